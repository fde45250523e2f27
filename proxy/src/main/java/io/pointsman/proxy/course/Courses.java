package io.pointsman.proxy.course;

import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Role;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Makes courses for the requests of one event loop, to which it belongs. */
public interface Courses {
  /** The course of a request whose body has been read. */
  Course of(Served request);

  /**
   * Serves a request that only the worker which keeps a stored response can serve.
   *
   * @param lease of that worker, or of one that may be it; taken over
   */
  void toOwner(Served request, Lease lease);

  /** How long the head of an answer may take at least before it is late; zero for no bound. */
  Duration firstByte();

  /**
   * The roles whose workers are asked, in this order, for requests that only the worker which keeps
   * a stored response can serve; at least one.
   *
   * @param owner that worker's id; null if it is not known
   * @param generates whether it is to generate, instead of telling what it keeps
   * @param model the model asked for; null if the request names none
   */
  List<Role> rolesOfKeepers(@Nullable String owner, boolean generates, @Nullable String model);

  /** The event loop stops: what goes on without a client is given up. */
  void close();
}

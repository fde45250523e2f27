package io.pointsman.proxy.handler;

import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Role;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Factory of request handlers for one event loop, to which it belongs. */
public interface RequestHandlers extends HandlersInForce {
  /**
   * Properties of the handlers of one factory.
   *
   * @param firstByte shortest timeout for the head of an answer; zero for none
   * @param editsBodies true if a handler may edit the body for each of its workers. It then needs
   *     the whole body, decoded
   */
  record Traits(Duration firstByte, boolean editsBodies) {}

  /** The handler of a request, after its body was read. */
  RequestHandler of(ClientExchange request);

  /**
   * Serves a request that only the worker with the stored response can serve.
   *
   * @param lease lease of that worker, or of a candidate; ownership passes to this method
   */
  void toOwner(ClientExchange request, Lease lease);

  /** The properties of the handlers. */
  Traits traits();

  /**
   * Roles of the workers that may have a stored response, in the order of the search; at least one.
   *
   * @param owner id of the worker with the response; null if unknown
   * @param generates true if the request generates; false if it reads the stored response
   * @param model model of the request; null if it names none
   */
  List<Role> rolesOfKeepers(@Nullable String owner, boolean generates, @Nullable String model);

  /** Cancels requests that continue without a client. Called when the event loop stops. */
  void close();
}

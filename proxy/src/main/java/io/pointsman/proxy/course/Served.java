package io.pointsman.proxy.course;

import io.pointsman.engine.Decision;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.body.KeptBody;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.reply.Reply;
import io.pointsman.proxy.retry.HeldAnswer;
import io.pointsman.proxy.telemetry.RetryReason;
import io.pointsman.proxy.telemetry.SideTrace;
import io.pointsman.proxy.wire.RequestHead;
import io.pointsman.request.RequestFacts;
import org.jspecify.annotations.Nullable;

/** A request that a {@link Course} leads, and what can be done with it. */
public interface Served {
  RequestHead head();

  RequestFacts facts();

  /** The id that the client's answer carries. */
  String requestId();

  /** The body, to be retained by who wants it for longer; null if it is not there as a whole. */
  @Nullable KeptBody body();

  /** Follows a request to a worker that is not an attempt; null for nobody. */
  @Nullable SideTrace sideTrace(Worker worker, SideTrace.Purpose purpose);

  /**
   * Begins an attempt, whose answer goes to the client.
   *
   * @param lease taken over
   */
  void attempt(Lease lease, Errand errand);

  /**
   * Takes back the attempt under way, if there is one: its worker sees a closed connection, its
   * lease is settled as ignored.
   *
   * @return false if a part of its answer has reached the client: then it goes on
   */
  boolean withdraw();

  /** Says that a request to a worker that is not an attempt has failed and another follows. */
  void retried(RetryReason reason);

  /** Nobody was chosen. */
  void refuse(Decision.Rejected rejected);

  /** The client gets an answer of the router's own. */
  void reply(ProxyError error, Reply reply);

  /** The client gets a good answer of the router's own. */
  void answer(Reply reply);

  /**
   * The client gets a worker's error as it came.
   *
   * @param restSeconds told as {@code Retry-After}; 0 for the worker's own
   */
  void pass(HeldAnswer held, long restSeconds);

  /** The client gets the best error of all attempts. */
  void giveUp();

  /** Something threw that should not have. */
  void defect(Throwable defect);
}

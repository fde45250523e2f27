package io.pointsman.engine.choice;

import io.pointsman.engine.Decision;
import io.pointsman.engine.fleet.Worker;

/** The answer to a plane that asks where a request should go. */
public sealed interface Choice {
  /**
   * A worker, and a place on it until the plane settles the lease or it expires.
   *
   * @param lease the id to settle, renew or confirm it by
   * @param expiresInNanos how long it is held without a further word
   */
  record Held(Worker worker, String lease, long expiresInNanos) implements Choice {}

  /** A worker, and no place on it: the request is not counted from now on. */
  record Pointed(Worker worker) implements Choice {}

  /** No worker can be had; nothing is held. */
  record Refused(Decision.Rejected rejection) implements Choice {}

  /**
   * As many leases are held as may be; nothing was decided.
   *
   * @param retryAfterNanos when the next one expires, if none is settled before
   */
  record TooManyHeld(long retryAfterNanos) implements Choice {}

  /**
   * The id that the plane wants for the lease cannot be had; nothing is held.
   *
   * @param lease that id
   * @param settled whether it was settled already, as by a plane that gave its question up; else
   *     another lease has it, or had it and expired
   */
  record IdTaken(String lease, boolean settled) implements Choice {}
}

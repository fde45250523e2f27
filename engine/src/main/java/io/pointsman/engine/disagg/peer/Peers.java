package io.pointsman.engine.disagg.peer;

import io.pointsman.engine.fleet.Worker;

/** Looks workers up. Called for each request, by any thread. */
@FunctionalInterface
public interface Peers {
  /** What is known of {@code worker} at present; {@link Peer#UNKNOWN} if nothing. */
  Peer of(Worker worker);
}

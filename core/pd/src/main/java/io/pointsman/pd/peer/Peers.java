package io.pointsman.pd.peer;

import io.pointsman.engine.fleet.Worker;

/** Lookup of peers. Called for each request, by any thread. */
@FunctionalInterface
public interface Peers {
  /** Returns the current data of {@code worker}, or {@link Peer#UNKNOWN}. */
  Peer of(Worker worker);
}

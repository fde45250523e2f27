package io.pointsman.pd.peer;

import io.pointsman.engine.fleet.Worker;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.function.UnaryOperator;

/**
 * Peers by worker id. Configuration, registrations and bootstrap servers provide the data. An entry
 * may exist before the worker joins the fleet. Safe for any number of threads.
 */
public final class PeerTable implements Peers {
  private final ConcurrentMap<String, Peer> peers = new ConcurrentHashMap<>();
  private final int most;

  /**
   * @param most maximum number of peers; further ones are rejected
   */
  public PeerTable(int most) {
    this.most = most;
  }

  @Override
  public Peer of(Worker worker) {
    return peers.getOrDefault(worker.id(), Peer.UNKNOWN);
  }

  /**
   * Changes the data of a worker.
   *
   * @return false if the table is full
   */
  public boolean update(String workerId, UnaryOperator<Peer> change) {
    if (peers.size() >= most && !peers.containsKey(workerId)) {
      return false;
    }
    peers.compute(workerId, (_, peer) -> change.apply(peer == null ? Peer.UNKNOWN : peer));
    return true;
  }

  /** Removes a worker that has left. */
  public void remove(String workerId) {
    peers.remove(workerId);
  }
}

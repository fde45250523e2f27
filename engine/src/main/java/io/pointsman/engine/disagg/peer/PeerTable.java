package io.pointsman.engine.disagg.peer;

import io.pointsman.engine.fleet.Worker;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.function.UnaryOperator;

/**
 * Peers by worker id, kept by whoever learns of them: configuration, registrations, bootstrap
 * servers. A worker may be told of before it joins the fleet. Safe for any number of threads.
 */
public final class PeerTable implements Peers {
  private final ConcurrentMap<String, Peer> peers = new ConcurrentHashMap<>();
  private final int most;

  /**
   * @param most peers kept at once; what comes when there are as many is not taken in
   */
  public PeerTable(int most) {
    this.most = most;
  }

  @Override
  public Peer of(Worker worker) {
    return peers.getOrDefault(worker.id(), Peer.UNKNOWN);
  }

  /**
   * Changes what is known of a worker.
   *
   * @return whether it was taken in; false if the table is full
   */
  public boolean update(String workerId, UnaryOperator<Peer> change) {
    if (peers.size() >= most && !peers.containsKey(workerId)) {
      return false;
    }
    peers.compute(workerId, (_, peer) -> change.apply(peer == null ? Peer.UNKNOWN : peer));
    return true;
  }

  /** Forgets a worker that is gone. */
  public void remove(String workerId) {
    peers.remove(workerId);
  }
}

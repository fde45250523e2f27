package io.pointsman.proxy.retry;

import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Worker;
import java.time.Duration;

/**
 * The clients with requests that failed since their last success. A client is suspect if its
 * requests failed on several workers. Bounded, and entries expire. Thread-safe.
 */
public final class FailingClients {
  private static final int MOST = 1024;
  private static final Duration TTL = Duration.ofSeconds(60);

  /**
   * @param worker id of the first worker
   * @param several true if requests failed on another worker too
   */
  private record Entry(String worker, boolean several) {}

  private final Ticker ticker;
  private final ExpiringTable<Entry> clients = new ExpiringTable<>(MOST, TTL.toNanos());

  public FailingClients(Ticker ticker) {
    this.ticker = ticker;
  }

  /**
   * Records that a request failed on {@code worker}.
   *
   * @return true if the client is suspect
   */
  synchronized boolean failed(long client, Worker worker) {
    long now = ticker.nanos();
    Entry before = clients.get(client, now);
    String first = before == null ? worker.id() : before.worker;
    boolean several = before != null && (before.several || !first.equals(worker.id()));
    clients.put(client, new Entry(first, several), now);
    return several;
  }

  /** Returns true if no client has failed requests. */
  boolean none() {
    return clients.isEmpty();
  }

  /** Records that a request succeeded. */
  synchronized void succeeded(long client) {
    clients.remove(client);
  }
}

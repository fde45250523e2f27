package io.pointsman.proxy.retry;

import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Worker;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The clients with requests that failed lately. Bounded, and entries expire. Thread-safe.
 *
 * <p>A client is suspect if its requests failed on several workers since its last success. A client
 * that has proved no identity can have a new one with each request. It is also suspect if the
 * failures of its address lie on several workers, and the present worker has at most half of them.
 * An address may belong to a proxy of many clients: a worker with more failures than the others
 * together fails by itself.
 */
public final class FailingClients {
  /**
   * A client.
   *
   * @param identity its proved identity; else its address with its credentials or its connection
   * @param address its address; null if its identity is proved
   */
  public record Client(long identity, @Nullable Long address) {
    /** A client with a proved identity. */
    public static Client proved(long identity) {
      return new Client(identity, null);
    }
  }

  private static final int MOST = 1024;
  private static final Duration TTL = Duration.ofSeconds(60);

  /** Maximum number of workers for each address; failures on further ones count in the sum only. */
  private static final int MOST_WORKERS = 64;

  /**
   * @param worker id of the first worker
   * @param several true if requests failed on another worker too
   */
  private record Entry(String worker, boolean several) {}

  /** The failures of an address in {@link #TTL}. */
  private static final class OfAddress {
    private final long since;
    private final Map<String, Integer> workers = new HashMap<>(4);
    private int all;

    OfAddress(long since) {
      this.since = since;
    }

    /** Counts a failure. Returns true if the address is suspect. */
    boolean failed(Worker worker) {
      all++;
      if (workers.size() < MOST_WORKERS || workers.containsKey(worker.id())) {
        workers.merge(worker.id(), 1, Integer::sum);
      }
      return workers.size() > 1 && 2 * workers.getOrDefault(worker.id(), 0) <= all;
    }
  }

  private final Ticker ticker;
  private final ExpiringTable<Entry> clients = new ExpiringTable<>(MOST, TTL.toNanos());
  private final ExpiringTable<OfAddress> addresses = new ExpiringTable<>(MOST, TTL.toNanos());

  public FailingClients(Ticker ticker) {
    this.ticker = ticker;
  }

  /**
   * Records that a request failed on {@code worker}.
   *
   * @return true if the client is suspect
   */
  synchronized boolean failed(Client client, Worker worker) {
    long now = ticker.nanos();
    Entry before = clients.get(client.identity, now);
    String first = before == null ? worker.id() : before.worker;
    boolean several = before != null && (before.several || !first.equals(worker.id()));
    clients.put(client.identity, new Entry(first, several), now);
    Long address = client.address;
    return (address != null && ofAddress(address, now).failed(worker)) || several;
  }

  /** The failures of an address. Old ones do not count, also if others follow without a pause. */
  private OfAddress ofAddress(long address, long now) {
    OfAddress known = addresses.get(address, now);
    OfAddress present = known == null || now - known.since >= TTL.toNanos() ? null : known;
    OfAddress counting = present == null ? new OfAddress(now) : present;
    addresses.put(address, counting, now);
    return counting;
  }

  /** Returns true if no client has failed requests. */
  boolean none() {
    return clients.isEmpty();
  }

  /** Records that a request succeeded. */
  synchronized void succeeded(Client client) {
    clients.remove(client.identity);
  }
}

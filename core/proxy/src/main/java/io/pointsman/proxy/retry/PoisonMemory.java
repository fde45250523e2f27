package io.pointsman.proxy.retry;

import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Worker;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Memory of the requests after which engines failed. After failures of two engines, a request with
 * the same endpoint and body is refused until its entry expires. Thread-safe.
 */
public final class PoisonMemory {
  private static final Logger LOG = LoggerFactory.getLogger(PoisonMemory.class);

  private static final long LOG_NANOS = 1_000_000_000L;

  /**
   * @param first id of the first engine that failed
   * @param poison true if another engine failed too
   */
  private record Entry(String first, boolean poison) {}

  private volatile PoisonSettings settings;
  private final Ticker ticker;
  private volatile ExpiringTable<Entry> entries;
  private final LongAdder refused = new LongAdder();
  private long loggedAt;
  private boolean logged;

  public PoisonMemory(PoisonSettings settings, Ticker ticker) {
    this.settings = settings;
    this.ticker = ticker;
    entries = table(settings);
  }

  private static ExpiringTable<Entry> table(PoisonSettings settings) {
    return new ExpiringTable<>(settings.entries(), settings.ttl().toNanos());
  }

  /** Uses other settings. Other ones than before forget all requests. */
  public synchronized void use(PoisonSettings next) {
    if (!next.equals(settings)) {
      settings = next;
      entries = table(next);
    }
  }

  /** Returns false if nothing is remembered. */
  boolean enabled() {
    return settings.entries() > 0;
  }

  /** Number of engines that failed after this request: 0, 1 or 2. */
  int engines(long request) {
    if (entries.isEmpty()) {
      return 0;
    }
    Entry found = find(request);
    return found == null ? 0 : found.poison ? RequestFaults.MOST_ENGINES : 1;
  }

  /** Returns true if {@code engine} is the first engine that failed after this request. */
  boolean failedOn(long request, Worker engine) {
    Entry found = find(request);
    return found != null && found.first.equals(engine.id());
  }

  private synchronized @Nullable Entry find(long request) {
    return entries.get(request, ticker.nanos());
  }

  /**
   * Records that an engine failed after a request.
   *
   * @param id id of the request for the log
   */
  void failed(long request, Worker engine, String id) {
    String first;
    synchronized (this) {
      long now = ticker.nanos();
      Entry before = entries.get(request, now);
      boolean second = before != null && !before.first.equals(engine.id());
      boolean known = before != null && before.poison;
      first = before == null ? engine.id() : before.first;
      entries.put(request, new Entry(first, second || known), now);
      if (!second || known || (logged && now - loggedAt < LOG_NANOS)) {
        return;
      }
      logged = true;
      loggedAt = now;
    }
    LOG.warn(
        "request {} failed on {} and {}, and may have ended them; the same body is refused for {} s"
            + " (logged at most once a second)",
        id,
        first,
        engine,
        settings.ttl().toSeconds());
  }

  /** Removes a request, because an engine answered it. */
  void answered(long request) {
    if (!entries.isEmpty()) {
      synchronized (this) {
        entries.remove(request);
      }
    }
  }

  /** Counts a request that is refused. */
  public void refuse() {
    refused.increment();
  }

  /** Number of refused requests. */
  public long refused() {
    return refused.sum();
  }
}

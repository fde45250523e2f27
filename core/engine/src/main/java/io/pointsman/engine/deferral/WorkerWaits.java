package io.pointsman.engine.deferral;

import io.pointsman.engine.RejectReason;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Bound on the requests that wait in the router while no worker is available for them, for example
 * during a rollout or after a scale to zero. Thread-safe.
 */
public final class WorkerWaits {
  private final DeferralSettings settings;
  private final AtomicInteger waiting = new AtomicInteger();

  WorkerWaits(DeferralSettings settings) {
    this.settings = settings;
  }

  /** Returns true if requests may wait at all. */
  public boolean on() {
    return settings.withoutWorker().isPositive() && settings.most() > 0;
  }

  /** Maximum wait in nanoseconds. */
  public long longestNanos() {
    return settings.withoutWorker().toNanos();
  }

  /** Counts a request that begins to wait. Returns false if it may not. */
  public boolean enter() {
    if (!on()) {
      return false;
    }
    if (waiting.incrementAndGet() <= settings.most()) {
      return true;
    }
    waiting.decrementAndGet();
    return false;
  }

  /** Ends a wait. */
  public void leave() {
    waiting.decrementAndGet();
  }

  /** The number of requests that wait. */
  public int waiting() {
    return waiting.get();
  }

  /** Returns true if a worker that comes or recovers can serve a request with this rejection. */
  public static boolean useful(RejectReason reason) {
    return switch (reason) {
      case NO_WORKERS, MODELS_PENDING, NONE_AVAILABLE -> true;
      case UNKNOWN_MODEL, ALL_BUSY, ALL_TRIED, UNSPLITTABLE -> false;
    };
  }
}

package io.pointsman.engine.deferral;

import io.pointsman.engine.Decision;
import io.pointsman.engine.RejectReason;
import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.policy.RoutingRequest;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Defers requests in the router while every worker is full. Each is decided when a worker has room,
 * with the knowledge of that moment. Only policies that estimate the wait of a request defer any
 * ({@link io.pointsman.engine.policy.PickResult#waitMillis}).
 *
 * <p>The router checks the deferred requests every 10 ms. Among the first of a queue it places each
 * request that a worker has room for. Requests with the fewest uncached tokens go first, because
 * this order minimises the mean wait. A request can thus be overtaken, for at most {@link
 * DeferralSettings#longest}. A request that arrives meanwhile joins the queue. If the maximum
 * number is deferred, the first of the queue is placed in exchange.
 *
 * <p>A request that waits for the longest time was deferred in vain. A request placed in exchange
 * counts as a fraction: its wait divided by the longest time. A queue pauses when clearly more of
 * its requests are deferred in vain than not. Then the load exceeds the capacity, or a worker
 * computes several prompts at once although the policy assumes a sequence. All its requests are
 * placed, and for a while none is deferred. The policy can then observe the actual waits. The count
 * decays over hours, so after a pause a few more requests in vain start the next one.
 *
 * <p>Safe for use by several threads. A decision takes no lock unless the request is deferred.
 */
public final class Deferral {
  /** No wake-up is needed, or one is pending already. */
  public static final long NO_WAKE = -1;

  private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

  /** Maximum number of requests of one queue per check. */
  private static final int LOOKED = 64;

  /** A wait shorter than any estimate. */
  private static final double NOT_AT_ALL = -1;

  /**
   * A request that may be deferred, with its callbacks. They run under a lock, so they must only
   * pass the call on.
   */
  public interface Guest {
    /** Returns the request; nobody else may use it while it is deferred. */
    RoutingRequest request();

    /**
     * Receives the decision; no further call follows.
     *
     * @param deferredNanos nanoseconds for which the request was deferred
     */
    void decided(Decision decision, long deferredNanos);

    /** Reports that the decision failed; no further call follows. */
    void failed(RuntimeException fault);
  }

  private final RoutingEngine engine;
  private final DeferralSettings settings;
  private final Ticker ticker;
  private final double beyondMillis;
  private final DeferralLines lines;
  private final AtomicInteger waiting = new AtomicInteger();
  private final WorkerWaits waits;

  /** Guarded by this. */
  private boolean waking;

  /** True if the last check left further requests that are due. Guarded by this. */
  private boolean more;

  /**
   * @param ticker the engine's ticker
   */
  public Deferral(RoutingEngine engine, DeferralSettings settings, Ticker ticker) {
    this.engine = engine;
    this.settings = settings;
    this.ticker = ticker;
    beyondMillis = settings.beyond().toNanos() / 1e6;
    lines = new DeferralLines(settings.longest().toNanos());
    waits = new WorkerWaits(settings);
  }

  /**
   * Decides on the guest's request or defers it. The caller then asks for {@link #wakeAfterNanos}.
   *
   * @return null if the request is deferred: later a method of the guest is called, unless it
   *     leaves first
   */
  public @Nullable Decision decide(Guest guest) {
    RoutingRequest request = guest.request();
    if (settings.off()) {
      return engine.decide(request);
    }
    DeferralLine line = lines.find(request);
    int before = line == null ? 0 : line.size();
    boolean paused = line != null && line.paused(ticker.nanos());
    if (paused || (before == 0 && full())) {
      return engine.decide(request);
    }
    // A request without an estimated wait does not join the queue.
    Decision decision = engine.decideWithin(request, before == 0 ? beyondMillis : NOT_AT_ALL);
    return decision != null || join(guest) ? decision : engine.decide(request);
  }

  private boolean full() {
    return waiting.get() >= settings.most();
  }

  private synchronized boolean join(Guest guest) {
    RoutingRequest request = guest.request();
    long now = ticker.nanos();
    if (full()) {
      placeFirst(lines.find(request), now);
    }
    if (full()) {
      return false;
    }
    request.waits().deferred(now);
    lines.of(request, now).add(guest, now);
    waiting.incrementAndGet();
    return true;
  }

  /**
   * Places the first request of a queue to make room for a new one. If the new one were placed
   * instead, it would overtake all deferred requests, and its work would delay them.
   */
  private void placeFirst(@Nullable DeferralLine line, long now) {
    if (line == null || line.size() == 0) {
      return;
    }
    Guest first = line.first(1).getFirst();
    long waited = line.waited(first, now);
    if (decide(line, first, Double.POSITIVE_INFINITY, false)) {
      line.inVain(waited, now);
    }
  }

  /**
   * Removes a guest that does not wait any more.
   *
   * @return false if it was not deferred: its callback was called or is about to be
   */
  public synchronized boolean leave(Guest guest) {
    DeferralLine line = lines.find(guest.request());
    return line != null && remove(line, guest);
  }

  private boolean remove(DeferralLine line, Guest guest) {
    if (!line.remove(guest)) {
      return false;
    }
    waiting.decrementAndGet();
    return true;
  }

  /** The requests that wait because no worker is available. */
  public WorkerWaits withoutWorker() {
    return waits;
  }

  /** The number of deferred requests. */
  public int waiting() {
    return waiting.get();
  }

  /**
   * Returns the time until {@link #wake} must be called.
   *
   * @return nanoseconds from now, or {@link #NO_WAKE}; a caller that receives a time must make that
   *     call
   */
  public synchronized long wakeAfterNanos() {
    if (waking || waiting.get() == 0) {
      return NO_WAKE;
    }
    waking = true;
    return more ? 0 : LOOK_NANOS;
  }

  /**
   * Decides on each deferred request that a worker has room for or that has waited longest.
   * Processes a limited number per call, so no thread is blocked for long.
   */
  public synchronized void wake() {
    waking = false;
    more = false;
    for (DeferralLine line : lines.all()) {
      List<Guest> first = line.first(LOOKED);
      int before = line.size();
      look(line, first);
      more |= line.size() > 0 && before - line.size() == first.size();
    }
    lines.sweep(ticker.nanos());
  }

  private void look(DeferralLine line, List<Guest> first) {
    long now = ticker.nanos();
    List<Guest> fitting = new ArrayList<>();
    for (Guest guest : first) {
      long waited = line.waited(guest, now);
      boolean over = waited >= settings.longest().toNanos();
      if (over) {
        line.inVain(waited, now);
      }
      if (over || line.paused(now)) {
        decide(line, guest, Double.POSITIVE_INFINITY, true);
      } else if (mayFit(line, guest)) {
        fitting.add(guest);
      }
    }
    fitting.sort(Comparator.comparingDouble(guest -> uncachedTokens(guest.request())));
    for (Guest guest : fitting) {
      if (decide(line, guest, beyondMillis, false)) {
        line.inTime(now);
      }
    }
  }

  /** Returns true if a worker has room, or if no worker is available at all. */
  private boolean mayFit(DeferralLine line, Guest guest) {
    RoutingRequest request = guest.request();
    try {
      return engine.preview(request) == null || !(request.result().waitMillis() > beyondMillis);
    } catch (RuntimeException e) {
      failed(line, guest, e);
      return false;
    }
  }

  private static double uncachedTokens(RoutingRequest request) {
    double cached = request.prefix().ratio(request.result().matchedBlocks());
    return request.prefix().tokens() * (1 - cached);
  }

  /**
   * Decides on a deferred request. Leaves it deferred if the wait would be longer, or if all
   * workers are busy and it may wait further.
   *
   * @param last true if it may not wait further
   * @return true if a decision was made
   */
  private boolean decide(DeferralLine line, Guest guest, double withinMillis, boolean last) {
    RoutingRequest request = guest.request();
    try {
      Decision decision = engine.attemptWithin(request, withinMillis);
      if (decision == null || (!last && busy(decision))) {
        return false;
      }
      if (decision instanceof Decision.Rejected rejected) {
        engine.rejected(request, rejected);
      }
      long waited = line.waited(guest, ticker.nanos());
      remove(line, guest);
      report(guest, decision, waited);
      return true;
    } catch (RuntimeException e) {
      failed(line, guest, e);
      return false;
    }
  }

  private static boolean busy(Decision decision) {
    return decision instanceof Decision.Rejected rejected
        && rejected.reason() == RejectReason.ALL_BUSY;
  }

  /**
   * Gives the lease back if the guest cannot take the decision, for example because its thread has
   * ended.
   */
  private static void report(Guest guest, Decision decision, long deferredNanos) {
    try {
      guest.decided(decision, deferredNanos);
    } catch (RuntimeException e) {
      if (decision instanceof Decision.Routed routed) {
        routed.lease().ignored();
      }
    }
  }

  private void failed(DeferralLine line, Guest guest, RuntimeException fault) {
    if (remove(line, guest)) {
      try {
        guest.failed(fault);
      } catch (RuntimeException e) {
        fault.addSuppressed(e);
      }
    }
  }
}

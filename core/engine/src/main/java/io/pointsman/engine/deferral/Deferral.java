package io.pointsman.engine.deferral;

import io.pointsman.engine.Decision;
import io.pointsman.engine.RejectReason;
import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.policy.PickResult;
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
  public interface Waiter {
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
  private final DeferralQueues queues;
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
    queues = new DeferralQueues(settings.longest().toNanos());
    waits = new WorkerWaits(settings);
  }

  /**
   * Decides on the waiter's request or defers it. The caller then asks for {@link #wakeAfterNanos}.
   *
   * @return null if the request is deferred: later a method of the waiter is called, unless it
   *     leaves first
   */
  public @Nullable Decision decide(Waiter waiter) {
    RoutingRequest request = waiter.request();
    if (settings.off()) {
      return engine.decide(request);
    }
    DeferralQueue queue = queues.find(request);
    int before = queue == null ? 0 : queue.size();
    boolean paused = queue != null && queue.paused(ticker.nanos());
    if (paused || (before == 0 && full())) {
      return engine.decide(request);
    }
    // A request without an estimated wait does not join the queue.
    Decision decision = engine.decideWithin(request, before == 0 ? beyondMillis : NOT_AT_ALL);
    if (decision != null || join(waiter, plainShare(request))) {
      return decision;
    }
    return engine.decide(request);
  }

  /**
   * Returns the time that the request would add for later ones, had the plain choice placed it, in
   * milliseconds; NaN without a prediction. Looks at each worker, so it is called without the lock.
   */
  private double plainShare(RoutingRequest request) {
    PickResult result = request.result();
    return Double.isNaN(result.waitMillis()) || Double.isNaN(result.plainMillis())
        ? Double.NaN
        : result.stepMillis() / Math.max(1, engine.serving(request));
  }

  private boolean full() {
    return waiting.get() >= settings.most();
  }

  private synchronized boolean join(Waiter waiter, double plainShare) {
    RoutingRequest request = waiter.request();
    long now = ticker.nanos();
    if (full()) {
      placeFirst(queues.find(request), now);
    }
    if (full()) {
      return false;
    }
    DeferralQueue queue = queues.of(request, now);
    double plain = queue.plainMillis(request.result().plainMillis(), plainShare, now);
    request.waits().deferred(now, plain);
    queue.add(waiter, plainShare, now);
    waiting.incrementAndGet();
    return true;
  }

  /**
   * Places the first request of a queue to make room for a new one. If the new one were placed
   * instead, it would overtake all deferred requests, and its work would delay them.
   */
  private void placeFirst(@Nullable DeferralQueue queue, long now) {
    if (queue == null || queue.size() == 0) {
      return;
    }
    Waiter first = queue.first(1).getFirst();
    long waited = queue.waited(first, now);
    if (decide(queue, first, Double.POSITIVE_INFINITY, false)) {
      queue.inVain(waited, now);
    }
  }

  /**
   * Removes a waiter that does not wait any more.
   *
   * @return false if it was not deferred: its callback was called or is about to be
   */
  public synchronized boolean leave(Waiter waiter) {
    DeferralQueue queue = queues.find(waiter.request());
    if (queue == null) {
      return false;
    }
    queue.leaves(waiter);
    return remove(queue, waiter);
  }

  private boolean remove(DeferralQueue queue, Waiter waiter) {
    if (!queue.remove(waiter)) {
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
    for (DeferralQueue queue : queues.all()) {
      List<Waiter> first = queue.first(LOOKED);
      int before = queue.size();
      look(queue, first);
      more |= queue.size() > 0 && before - queue.size() == first.size();
    }
    queues.sweep(ticker.nanos());
  }

  private void look(DeferralQueue queue, List<Waiter> first) {
    long now = ticker.nanos();
    List<Waiter> fitting = new ArrayList<>();
    for (Waiter waiter : first) {
      long waited = queue.waited(waiter, now);
      boolean over = waited >= settings.longest().toNanos();
      if (over) {
        queue.inVain(waited, now);
      }
      if (over || queue.paused(now)) {
        decide(queue, waiter, Double.POSITIVE_INFINITY, true);
      } else if (mayFit(queue, waiter)) {
        fitting.add(waiter);
      }
    }
    fitting.sort(Comparator.comparingDouble(waiter -> uncachedTokens(waiter.request())));
    for (Waiter waiter : fitting) {
      if (decide(queue, waiter, beyondMillis, false)) {
        queue.inTime(now);
      }
    }
  }

  /** Returns true if a worker has room, or if no worker is available at all. */
  private boolean mayFit(DeferralQueue queue, Waiter waiter) {
    RoutingRequest request = waiter.request();
    try {
      return engine.preview(request) == null || !(request.result().waitMillis() > beyondMillis);
    } catch (RuntimeException e) {
      failed(queue, waiter, e);
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
  private boolean decide(DeferralQueue queue, Waiter waiter, double withinMillis, boolean last) {
    RoutingRequest request = waiter.request();
    try {
      Decision decision = engine.attemptWithin(request, withinMillis);
      if (decision == null || (!last && busy(decision))) {
        return false;
      }
      if (decision instanceof Decision.Rejected rejected) {
        engine.rejected(request, rejected);
      }
      long waited = queue.waited(waiter, ticker.nanos());
      remove(queue, waiter);
      report(waiter, decision, waited);
      return true;
    } catch (RuntimeException e) {
      failed(queue, waiter, e);
      return false;
    }
  }

  private static boolean busy(Decision decision) {
    return decision instanceof Decision.Rejected rejected
        && rejected.reason() == RejectReason.ALL_BUSY;
  }

  /**
   * Gives the lease back if the waiter cannot take the decision, for example because its thread has
   * ended.
   */
  private static void report(Waiter waiter, Decision decision, long deferredNanos) {
    try {
      waiter.decided(decision, deferredNanos);
    } catch (RuntimeException e) {
      if (decision instanceof Decision.Routed routed) {
        routed.lease().ignored();
      }
    }
  }

  private void failed(DeferralQueue queue, Waiter waiter, RuntimeException fault) {
    if (remove(queue, waiter)) {
      try {
        waiter.failed(fault);
      } catch (RuntimeException e) {
        fault.addSuppressed(e);
      }
    }
  }
}

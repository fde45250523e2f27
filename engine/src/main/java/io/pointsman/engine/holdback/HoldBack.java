package io.pointsman.engine.holdback;

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
 * Requests that wait in the router while every worker is full, so that each is decided on when a
 * worker has room for it, by what is known then. Only policies that tell how long a request would
 * wait hold any back ({@link io.pointsman.engine.policy.PickNotes#waitMillis}).
 *
 * <p>The router looks at them every few milliseconds. Of the first of a line, those that a worker
 * has room for go, the ones with the fewest uncached tokens first: the mean wait is shortest then.
 * So a request can be overtaken, for {@link HoldBackSettings#longest} at most. A request that
 * arrives meanwhile joins the line. When as many are held back as may be, the first of the line is
 * placed in return.
 *
 * <p>A request that is still held back then was so in vain; one that had to make room was so by the
 * part of the longest time that it had waited. When clearly more of a line are than are not, there
 * is more to do than can be done, or a worker does several prompts at once of which the policy
 * thinks that one waits for the other. All of it go then, and for a while none of its kind is held
 * back, in which the policy sees how long requests do wait. What was counted fades within hours
 * only: after that while few more in vain are enough.
 *
 * <p>Safe for use by several threads. A decision takes no lock unless it is put off.
 */
public final class HoldBack {
  /** No wake-up is needed, or one is under way already. */
  public static final long NO_WAKE = -1;

  private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

  /** Requests of a line that are looked at together. */
  private static final int LOOKED = 64;

  /** Less than any request waits. */
  private static final double NOT_AT_ALL = -1;

  /** Someone whose request may be held back. Called under a lock: only to be handed on. */
  public interface Guest {
    /** Not to be touched by others while it is held back. */
    RoutingRequest request();

    /**
     * The request has been decided on; nothing else follows.
     *
     * @param heldNanos how long it was held back
     */
    void decided(Decision decision, long heldNanos);

    /** The decision has failed; nothing else follows. */
    void failed(RuntimeException fault);
  }

  private final RoutingEngine engine;
  private final HoldBackSettings settings;
  private final Ticker ticker;
  private final double beyondMillis;
  private final Lines lines;
  private final AtomicInteger held = new AtomicInteger();

  /** Guarded by this. */
  private boolean waking;

  /** Whether the last look left some that are due as well. Guarded by this. */
  private boolean more;

  /**
   * @param ticker the same as the engine's
   */
  public HoldBack(RoutingEngine engine, HoldBackSettings settings, Ticker ticker) {
    this.engine = engine;
    this.settings = settings;
    this.ticker = ticker;
    beyondMillis = settings.beyond().toNanos() / 1e6;
    lines = new Lines(settings.longest().toNanos());
  }

  /**
   * Decides on the guest's request, or holds it back.
   *
   * @return null if it is held back: one of the guest's methods is called, or it leaves first.
   *     Whoever gets null asks for {@link #wakeAfterNanos}.
   */
  public @Nullable Decision decide(Guest guest) {
    RoutingRequest request = guest.request();
    if (settings.off()) {
      return engine.decide(request);
    }
    Line line = lines.find(request);
    int before = line == null ? 0 : line.size();
    boolean paused = line != null && line.paused(ticker.nanos());
    if (paused || (before == 0 && full())) {
      return engine.decide(request);
    }
    // Whose wait the policy does not tell, goes past the line.
    Decision decision = engine.decideWithin(request, before == 0 ? beyondMillis : NOT_AT_ALL);
    return decision != null || join(guest) ? decision : engine.decide(request);
  }

  private boolean full() {
    return held.get() >= settings.most();
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
    request.notes().heldSince(now);
    lines.of(request, now).add(guest, now);
    held.incrementAndGet();
    return true;
  }

  /**
   * Makes room for one more in a line. If who comes were placed itself, it would overtake all that
   * are held back, and its work would keep them from fitting.
   */
  private void placeFirst(@Nullable Line line, long now) {
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
   * The guest does not wait any more.
   *
   * @return false if it was not held back: it has been told, or is about to be, what has become of
   *     its request
   */
  public synchronized boolean leave(Guest guest) {
    Line line = lines.find(guest.request());
    return line != null && remove(line, guest);
  }

  private boolean remove(Line line, Guest guest) {
    if (!line.remove(guest)) {
      return false;
    }
    held.decrementAndGet();
    return true;
  }

  /** Requests that are held back. */
  public int held() {
    return held.get();
  }

  /**
   * When {@link #wake} is to be called.
   *
   * @return nanoseconds from now, or {@link #NO_WAKE}; who gets a time must keep it
   */
  public synchronized long wakeAfterNanos() {
    if (waking || held.get() == 0) {
      return NO_WAKE;
    }
    waking = true;
    return more ? 0 : LOOK_NANOS;
  }

  /**
   * Decides on those that a worker has room for by now, and on those that have waited longest; on
   * some of them, so that nobody waits for the rest.
   */
  public synchronized void wake() {
    waking = false;
    more = false;
    for (Line line : lines.all()) {
      List<Guest> first = line.first(LOOKED);
      int before = line.size();
      look(line, first);
      more |= line.size() > 0 && before - line.size() == first.size();
    }
    lines.sweep(ticker.nanos());
  }

  private void look(Line line, List<Guest> first) {
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

  /** Whether a worker has room, or none can be had at all. */
  private boolean mayFit(Line line, Guest guest) {
    RoutingRequest request = guest.request();
    try {
      return engine.preview(request) == null || !(request.notes().waitMillis() > beyondMillis);
    } catch (RuntimeException e) {
      failed(line, guest, e);
      return false;
    }
  }

  private static double uncachedTokens(RoutingRequest request) {
    double cached = request.prefix().ratio(request.notes().matchedBlocks());
    return request.prefix().tokens() * (1 - cached);
  }

  /**
   * Decides, unless it would wait longer, or all are too busy while it may still be held back.
   *
   * @param last whether it may not
   * @return whether it has been decided on
   */
  private boolean decide(Line line, Guest guest, double withinMillis, boolean last) {
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
      tell(guest, decision, waited);
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

  /** Nobody takes a decision over whose thread has ended. */
  private static void tell(Guest guest, Decision decision, long heldNanos) {
    try {
      guest.decided(decision, heldNanos);
    } catch (RuntimeException e) {
      if (decision instanceof Decision.Routed routed) {
        routed.lease().ignored();
      }
    }
  }

  private void failed(Line line, Guest guest, RuntimeException fault) {
    if (remove(line, guest)) {
      try {
        guest.failed(fault);
      } catch (RuntimeException e) {
        fault.addSuppressed(e);
      }
    }
  }
}

package io.pointsman.engine.holdback;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.Decision;
import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.policy.RoutingRequest;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Requests that wait in the router while every worker is full, so that each is decided on when a
 * worker has room for it, by what is known then. Only policies that tell how long a request would
 * wait hold any back ({@link io.pointsman.engine.policy.PickNotes#waitMillis}).
 *
 * <p>Those held back are looked at every few milliseconds while there are any. Of the first few of
 * a line, those that a worker has room for go, the ones of which it holds most first: one may so be
 * overtaken, for as long as {@link HoldBackSettings#longest} at most.
 *
 * <p>A request that is still held back then was so in vain. When clearly more are than are not,
 * there is more to do than can be done, or a worker does several prompts at once of which the
 * policy thinks that one waits for the other. All go then, and for a while nobody is held back, in
 * which the policy sees how long requests do wait.
 *
 * <p>Safe for use by several threads. A decision takes no lock unless it is put off.
 */
public final class HoldBack {
  /** No wake-up is needed, or one is under way already. */
  public static final long NO_WAKE = -1;

  private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

  /** So many more in vain than not are too many. */
  private static final int VAIN = 16;

  /** For so many times the longest wait nobody is held back then: a minute. */
  private static final int PAUSE = 12;

  /** Requests of a line that are looked at together. */
  private static final int LOOKED = 16;

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

  /** Requests that compete for the same workers. */
  private record Key(Role role, String model) {
    static Key of(RoutingRequest request) {
      String model = request.model();
      return new Key(request.role(), model == null ? "" : model);
    }
  }

  /** Changed under the lock of all; the size may be read by any thread. */
  private static final class Line {
    private final Map<Guest, Long> since = new LinkedHashMap<>();
    private volatile int size;

    void add(Guest guest, long now) {
      since.put(guest, now);
      size = since.size();
    }

    boolean remove(Guest guest) {
      boolean was = since.remove(guest) != null;
      size = since.size();
      return was;
    }

    List<Guest> first() {
      List<Guest> first = new ArrayList<>(LOOKED);
      Iterator<Guest> each = since.keySet().iterator();
      while (first.size() < LOOKED && each.hasNext()) {
        first.add(each.next());
      }
      return first;
    }
  }

  private final RoutingEngine engine;
  private final HoldBackSettings settings;
  private final Ticker ticker;
  private final double beyondMillis;
  private final Map<Key, Line> lines = new ConcurrentHashMap<>();
  private final AtomicInteger held = new AtomicInteger();

  private volatile long pausedUntil;

  /** Guarded by this. */
  private boolean waking;

  /** By how many more were held back in vain than not. Guarded by this. */
  private int vain;

  /**
   * @param ticker the same as the engine's
   */
  public HoldBack(RoutingEngine engine, HoldBackSettings settings, Ticker ticker) {
    this.engine = engine;
    this.settings = settings;
    this.ticker = ticker;
    beyondMillis = settings.beyond().toNanos() / 1e6;
    pausedUntil = ticker.nanos();
  }

  /**
   * Decides on the guest's request, or holds it back.
   *
   * @return null if it is held back: one of the guest's methods is called, or it leaves first.
   *     Whoever gets null asks for {@link #wakeAfterNanos}.
   */
  public @Nullable Decision decide(Guest guest) {
    RoutingRequest request = guest.request();
    if (settings.off() || paused(ticker.nanos())) {
      return engine.decide(request);
    }
    Key key = Key.of(request);
    Line line = held.get() == 0 ? null : lines.get(key);
    request.beside(line == null ? 0 : line.size);
    Decision decision = engine.decideWithin(request, beyondMillis);
    return decision != null || join(key, guest) ? decision : engine.decide(request);
  }

  private boolean paused(long now) {
    return now - pausedUntil < 0;
  }

  private synchronized boolean join(Key key, Guest guest) {
    if (held.get() >= settings.most()) {
      return false;
    }
    lines.computeIfAbsent(key, _ -> new Line()).add(guest, ticker.nanos());
    held.incrementAndGet();
    return true;
  }

  /**
   * The guest does not wait any more.
   *
   * @return false if it was not held back: it has been told, or is about to be, what has become of
   *     its request
   */
  public synchronized boolean leave(Guest guest) {
    Key key = Key.of(guest.request());
    Line line = lines.get(key);
    return line != null && remove(key, line, guest);
  }

  private boolean remove(Key key, Line line, Guest guest) {
    if (!line.remove(guest)) {
      return false;
    }
    held.decrementAndGet();
    if (line.size == 0) {
      lines.remove(key);
    }
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
    return LOOK_NANOS;
  }

  /** Decides on those that a worker has room for by now, and on those that have waited longest. */
  public synchronized void wake() {
    waking = false;
    for (Map.Entry<Key, Line> each : lines.entrySet()) {
      Key key = each.getKey();
      Line line = each.getValue();
      int looked;
      int gone;
      do {
        List<Guest> first = line.first();
        looked = first.size();
        gone = look(key, line, first);
      } while (gone == looked && line.size > 0);
    }
  }

  /** How many were decided on. */
  private int look(Key key, Line line, List<Guest> first) {
    long now = ticker.nanos();
    int before = line.size;
    List<Guest> fitting = new ArrayList<>();
    for (Guest guest : first) {
      RoutingRequest request = guest.request();
      request.beside(line.size - 1);
      long waited = now - requireNonNull(line.since.get(guest), "since");
      boolean over = waited >= settings.longest().toNanos();
      if (over && ++vain >= VAIN) {
        vain = 0;
        pausedUntil = now + PAUSE * settings.longest().toNanos();
      }
      if (over || paused(now)) {
        decide(key, line, guest, Double.POSITIVE_INFINITY);
      } else if (hasRoom(request)) {
        fitting.add(guest);
      }
    }
    fitting.sort(Comparator.comparingDouble(guest -> -heldTokens(guest.request())));
    for (Guest guest : fitting) {
      guest.request().beside(line.size - 1);
      vain = Math.max(0, vain - 1);
      decide(key, line, guest, beyondMillis);
    }
    return before - line.size;
  }

  /** Whether a worker has room, or none can be had at all. */
  private boolean hasRoom(RoutingRequest request) {
    return engine.preview(request) == null || !(request.notes().waitMillis() > beyondMillis);
  }

  private static double heldTokens(RoutingRequest request) {
    return request.prefix().tokens() * request.prefix().ratio(request.notes().matchedBlocks());
  }

  private void decide(Key key, Line line, Guest guest, double withinMillis) {
    long since = requireNonNull(line.since.get(guest), "since");
    try {
      Decision decision = engine.decideWithin(guest.request(), withinMillis);
      if (decision != null) {
        remove(key, line, guest);
        guest.decided(decision, ticker.nanos() - since);
      }
    } catch (RuntimeException e) {
      remove(key, line, guest);
      guest.failed(e);
    }
  }
}

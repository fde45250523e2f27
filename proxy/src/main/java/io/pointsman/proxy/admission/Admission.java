package io.pointsman.proxy.admission;

import io.pointsman.engine.env.Ticker;
import java.time.Duration;
import java.util.Iterator;
import java.util.LinkedHashSet;

/**
 * The limit on requests under way, and on their rate, with a fair queue before it. A place is held
 * from admission to the end of the answer. Shared by all event loops; without a limit it touches
 * nothing shared, with one it takes a short lock.
 */
public final class Admission {
  /** The answer to a request for a place. */
  public enum Answer {
    ADMITTED,
    /** {@link Waiter#admitted} follows, or the waiter leaves first. */
    QUEUED,
    /** The queue is full. */
    FULL
  }

  /** Someone who waits for a place. */
  @FunctionalInterface
  public interface Waiter {
    /**
     * It has the place. Called by whoever left its own or woke the queue, under the lock: only to
     * be handed on to the waiter's own thread.
     */
    void admitted();
  }

  /** No longer wait is told to anybody. */
  public static final Duration LONGEST_TURN = Duration.ofSeconds(60);

  private static final int WEIGHT = 8;

  /** No wake-up is needed, or one is under way already. */
  public static final long NO_WAKE = -1;

  private final AdmissionSettings settings;
  private final Ticker ticker;
  private final LinkedHashSet<Waiter> queue = new LinkedHashSet<>();
  private int held;
  private double tokens;
  private long refilledAt;
  private boolean waking;

  /** When a place was given back while others were wanted; only then does the time count. */
  private long lastLeftAt;

  private boolean leftWhileFull;

  /** Between two places given back while all were taken, smoothed; 0 while not known. */
  private double nanosBetweenLeaves;

  public Admission(AdmissionSettings settings, Ticker ticker) {
    this.settings = settings;
    this.ticker = ticker;
    tokens = burst();
    refilledAt = ticker.nanos();
  }

  public AdmissionSettings settings() {
    return settings;
  }

  private boolean unlimited() {
    return settings.maxConcurrentRequests() == 0 && settings.ratePerSecond() == 0;
  }

  private int burst() {
    int most = settings.maxConcurrentRequests();
    return most > 0 ? most : Math.max(1, settings.ratePerSecond());
  }

  /** Takes a place, or joins the end of the queue. */
  public Answer enter(Waiter waiter) {
    if (unlimited()) {
      return Answer.ADMITTED;
    }
    synchronized (this) {
      if (queue.isEmpty() && take()) {
        return Answer.ADMITTED;
      }
      if (queue.size() >= settings.queueSize()) {
        return Answer.FULL;
      }
      queue.add(waiter);
      return Answer.QUEUED;
    }
  }

  /**
   * Gives a place back; who has waited longest gets it, as far as the rate allows.
   *
   * @return as {@link #wakeAfterNanos}
   */
  public long leave() {
    if (unlimited()) {
      return NO_WAKE;
    }
    synchronized (this) {
      observe();
      held--;
      admitWaiting();
      return nextWake();
    }
  }

  private void observe() {
    boolean full = full();
    if (full) {
      long now = ticker.nanos();
      if (leftWhileFull) {
        double between = (double) (now - lastLeftAt);
        nanosBetweenLeaves +=
            nanosBetweenLeaves == 0 ? between : (between - nanosBetweenLeaves) / WEIGHT;
      }
      lastLeftAt = now;
    }
    // Without anybody who takes the place over, the next one that leaves tells of an idle time.
    leftWhileFull = full && !queue.isEmpty();
  }

  /**
   * When {@link #wake} is to be called so that a waiter is let in as soon as the rate allows; to be
   * asked behind {@link #enter}. Where a place is what waiters lack, the next {@link #leave} lets
   * them in.
   *
   * @return nanoseconds from now, or {@link #NO_WAKE}; who gets a time must keep it
   */
  public long wakeAfterNanos() {
    if (settings.ratePerSecond() == 0) {
      return NO_WAKE;
    }
    synchronized (this) {
      return nextWake();
    }
  }

  private long nextWake() {
    if (settings.ratePerSecond() == 0 || waking || queue.isEmpty() || full()) {
      return NO_WAKE;
    }
    waking = true;
    return nanosToToken(1);
  }

  /**
   * Lets in who may go by now.
   *
   * @return as {@link #wakeAfterNanos}
   */
  public synchronized long wake() {
    waking = false;
    admitWaiting();
    return nextWake();
  }

  /**
   * Nanoseconds until a request that came now would be let in: by the rate, and by the pace at
   * which places were given back while all were taken. 0 if neither is known; at most {@link
   * #LONGEST_TURN}.
   */
  public synchronized long nanosToTurn() {
    int ahead = queue.size() + 1;
    long byRate = settings.ratePerSecond() == 0 ? 0 : nanosToToken(ahead);
    long byPace = (long) Math.min(ahead * nanosBetweenLeaves, 1e18);
    return Math.min(Math.max(byRate, byPace), LONGEST_TURN.toNanos());
  }

  private void admitWaiting() {
    Iterator<Waiter> first = queue.iterator();
    while (first.hasNext() && take()) {
      Waiter next = first.next();
      first.remove();
      next.admitted();
    }
  }

  private boolean full() {
    int most = settings.maxConcurrentRequests();
    return most > 0 && held >= most;
  }

  private boolean take() {
    if (full()) {
      return false;
    }
    if (settings.ratePerSecond() > 0 && nanosToToken(1) > 0) {
      return false;
    }
    tokens--;
    held++;
    return true;
  }

  /** Refills the bucket; nanoseconds until it holds {@code wanted} tokens. */
  private long nanosToToken(int wanted) {
    long now = ticker.nanos();
    double perNano = settings.ratePerSecond() / 1e9;
    tokens = Math.min(burst(), tokens + (now - refilledAt) * perNano);
    refilledAt = now;
    double missing = wanted - tokens;
    return missing <= 0 ? 0 : (long) Math.ceil(missing / perNano);
  }

  /**
   * Leaves the queue.
   *
   * @return false if the waiter has been given a place meanwhile, which it must give back
   */
  public boolean quit(Waiter waiter) {
    synchronized (this) {
      return queue.remove(waiter);
    }
  }

  /** How many wait. */
  public int queued() {
    if (unlimited()) {
      return 0;
    }
    synchronized (this) {
      return queue.size();
    }
  }
}

package io.pointsman.proxy.admission;

import io.pointsman.engine.env.Ticker;
import io.pointsman.proxy.identity.Priority;
import java.time.Duration;

/**
 * Limit on the number of requests in progress and on their rate, with a queue that is fair to
 * clients. A request holds a permit from admission to the end of its answer. All event loops share
 * it; thread-safe. Without a limit it touches no shared memory; with a limit it takes a short lock.
 */
public final class Admission {
  /** Answer to a request for a permit. */
  public enum Answer {
    ADMITTED,
    /** {@link Waiter#admitted} follows, unless the waiter leaves the queue first. */
    QUEUED,
    /** The queue is full. */
    FULL
  }

  /**
   * A request that waits for a permit. The caller of its events is any thread and holds the lock,
   * so implementations only pass the call on to their own thread.
   */
  public interface Waiter {
    /** The request; always the same from {@link #enter} to {@link #leave}. */
    QueuedRequest request();

    /** The request has a permit. */
    void admitted();

    /** The request has left the full queue, because another one came before it. */
    void displaced();
  }

  /** Maximum result of {@link #nanosToTurn}. */
  public static final Duration LONGEST_TURN = Duration.ofSeconds(60);

  private static final int WEIGHT = 8;

  /** A wake-up can be early by this time. */
  private static final long EARLY_NANOS = 1_000_000L;

  /** Permits are reserved for this time after a request of high priority. */
  private static final long RESERVE_NANOS = Duration.ofMinutes(1).toNanos();

  /** No wake-up is needed, or another caller has it. */
  public static final long NO_WAKE = -1;

  private final AdmissionSettings settings;
  private final Ticker ticker;
  private final FairQueue queue = new FairQueue();
  private int permits;

  /** Permits of requests of high priority, among those held. */
  private int permitsOfHigh;

  private double tokens;
  private long refilledAt;

  /** True while a caller has a wake-up, at {@link #wakeAt}. */
  private boolean waking;

  private long wakeAt;

  /** Time of the last release of a permit while all were in use. */
  private long lastLeftAt;

  private boolean leftWhileFull;

  /** Time of the last request of high priority. */
  private long lastHighAt;

  /** True if a request of high priority came within {@link #RESERVE_NANOS}. */
  private boolean highSeen;

  /** Smoothed time between two releases while all permits were in use; 0 if unknown. */
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

  /** True if every request is admitted at once. */
  public boolean unlimited() {
    return settings.maxConcurrentRequests() == 0 && settings.ratePerSecond() == 0;
  }

  private int burst() {
    int most = settings.maxConcurrentRequests();
    return most > 0 ? most : Math.max(1, settings.ratePerSecond());
  }

  /** Takes a permit, or joins the queue. A full queue can displace another request. */
  public Answer enter(Waiter waiter) {
    if (unlimited()) {
      return Answer.ADMITTED;
    }
    synchronized (this) {
      Priority priority = waiter.request().priority();
      if (mayPass(priority) && take(priority)) {
        queue.begin(waiter.request());
        permitsOfHigh += high(waiter.request());
        return Answer.ADMITTED;
      }
      if (queue.size() >= settings.queueSize()) {
        Waiter last = queue.giveWay(waiter.request());
        if (last == null) {
          return Answer.FULL;
        }
        last.displaced();
      }
      queue.add(waiter);
      return Answer.QUEUED;
    }
  }

  /**
   * Releases a permit. The next waiter gets it if the rate allows.
   *
   * @param tokens tokens of the request's prompt and answer
   * @return as {@link #wakeAfterNanos}
   */
  public long leave(QueuedRequest request, long tokens) {
    if (unlimited()) {
      return NO_WAKE;
    }
    synchronized (this) {
      observe();
      queue.end(request, tokens);
      permits--;
      permitsOfHigh -= high(request);
      admitWaiting();
      return nextWake();
    }
  }

  private void observe() {
    boolean full = fullFor(Priority.LOW);
    if (full) {
      long now = ticker.nanos();
      if (leftWhileFull) {
        double between = (double) (now - lastLeftAt);
        nanosBetweenLeaves +=
            nanosBetweenLeaves == 0 ? between : (between - nanosBetweenLeaves) / WEIGHT;
      }
      lastLeftAt = now;
    }
    // Without a waiter the permit stays free. The time to the next release would then include idle
    // time.
    leftWhileFull = full && !queue.isEmpty();
  }

  /**
   * Time of the next call of {@link #wake}, which admits a waiter as soon as the rate allows, or
   * the reserve for high priority ends. Call it after {@link #enter}. If no permit is free, the
   * next {@link #leave} admits a waiter.
   *
   * @return nanoseconds from the present, or {@link #NO_WAKE}; a caller that gets a time must call
   *     {@link #wake} then
   */
  public synchronized long wakeAfterNanos() {
    return nextWake();
  }

  private long nextWake() {
    if (queue.isEmpty() || full()) {
      return NO_WAKE;
    }
    long now = ticker.nanos();
    boolean reserved = !queue.waits(Priority.HIGH) && fullFor(Priority.LOW);
    if (!reserved && settings.ratePerSecond() == 0) {
      return NO_WAKE;
    }
    long nanos = reserved ? lastHighAt + RESERVE_NANOS - now : nanosToToken(1);
    if (waking && now + nanos - wakeAt >= 0) {
      return NO_WAKE;
    }
    waking = true;
    wakeAt = now + nanos;
    return nanos;
  }

  /**
   * Admits the waiters that permits and rate allow.
   *
   * @return as {@link #wakeAfterNanos}
   */
  public synchronized long wake() {
    if (wakeAt - ticker.nanos() > EARLY_NANOS) {
      return NO_WAKE; // An earlier wake-up has taken the place of this one, and has had its call.
    }
    waking = false;
    admitWaiting();
    return nextWake();
  }

  /**
   * Estimated wait of a new request in nanoseconds. It is the longer of two times: by the rate, and
   * by the interval between releases while all permits were in use. 0 if both are unknown; at most
   * {@link #LONGEST_TURN}.
   */
  public synchronized long nanosToTurn() {
    int ahead = queue.size() + 1;
    long byRate = settings.ratePerSecond() == 0 ? 0 : nanosToToken(ahead);
    long byPace = (long) Math.min(ahead * nanosBetweenLeaves, 1e18);
    return Math.min(Math.max(byRate, byPace), LONGEST_TURN.toNanos());
  }

  private void admitWaiting() {
    admitWaiting(Priority.LOW);
    admitWaiting(Priority.HIGH);
  }

  private void admitWaiting(Priority least) {
    while ((least == Priority.HIGH ? queue.waits(least) : !queue.isEmpty()) && take(least)) {
      Waiter next = queue.next(least);
      if (next == null) {
        throw new IllegalStateException("the queue is empty");
      }
      permitsOfHigh += high(next.request());
      next.admitted();
    }
  }

  private static int high(QueuedRequest request) {
    return request.priority() == Priority.HIGH ? 1 : 0;
  }

  /** True if a new request may pass the waiting ones. */
  private boolean mayPass(Priority priority) {
    if (priority == Priority.HIGH) {
      lastHighAt = ticker.nanos();
      highSeen = true;
      return !queue.waits(priority);
    }
    return queue.isEmpty();
  }

  private boolean full() {
    int most = settings.maxConcurrentRequests();
    return most > 0 && permits >= most;
  }

  /** True if only requests of high priority can have a permit, or none. */
  private boolean fullFor(Priority priority) {
    if (full() || priority == Priority.HIGH || !highSeen) {
      return full();
    }
    if (settings.maxConcurrentRequests() == 0) {
      return false;
    }
    highSeen = ticker.nanos() - lastHighAt < RESERVE_NANOS;
    int others = permits - permitsOfHigh;
    return highSeen && others >= settings.maxConcurrentRequests() - settings.reserve();
  }

  private boolean take(Priority priority) {
    if (fullFor(priority)) {
      return false;
    }
    if (settings.ratePerSecond() > 0 && nanosToToken(1) > 0) {
      return false;
    }
    tokens--;
    permits++;
    return true;
  }

  /** Refills the token bucket. Returns the nanoseconds until it contains {@code wanted} tokens. */
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
   * @return false if the waiter already has a permit, which it must release
   */
  public boolean quit(Waiter waiter) {
    synchronized (this) {
      return queue.remove(waiter);
    }
  }

  /** Number of requests in the queue. */
  public int queued() {
    if (unlimited()) {
      return 0;
    }
    synchronized (this) {
      return queue.size();
    }
  }
}

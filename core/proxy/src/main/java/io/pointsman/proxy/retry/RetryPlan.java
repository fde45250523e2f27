package io.pointsman.proxy.retry;

import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.reply.Reply;
import io.pointsman.proxy.telemetry.RetryReason;
import org.jspecify.annotations.Nullable;

/**
 * State of one request's attempts: their number, the permission for another, and the error for the
 * client. Belongs to the event loop.
 */
public final class RetryPlan {
  /** Maximum number of attempts while workers are busy. */
  private static final int MOST_ASKED = 64;

  /** Maximum number of workers that a request leaves because they do not serve its model. */
  private static final int MOST_WITHOUT_MODEL = 16;

  private static final int NOT_FOUND = 404;

  private final RetrySettings settings;
  private final Backoff backoff;
  private final RetryBudget budget;
  private int attempts;

  /** Attempts on workers without the stored response or without the model. */
  private int notThere;

  /** Workers that did not serve the model any more. */
  private int withoutModel;

  private int waits;
  private long shortestRest;
  private @Nullable BufferedResponse buffered;
  private @Nullable ProxyError lastError;

  public RetryPlan(RetrySettings settings, Backoff backoff, RetryBudget budget) {
    this.settings = settings;
    this.backoff = backoff;
    this.budget = budget;
  }

  public void attempted() {
    attempts++;
  }

  /** True if another attempt may follow an answer with this status. */
  public boolean mayRetryAfter(int status) {
    return attempts - notThere < settings.maxAttempts() && retryable(status);
  }

  public static boolean retryable(int status) {
    return switch (status) {
      case 408, 429, 500, 502, 503, 504, BufferedResponse.OVERLOADED -> true;
      default -> false;
    };
  }

  /** Records an attempt without an answer. */
  public void failed(ProxyError error) {
    lastError = error;
  }

  /**
   * Records an attempt with a buffered error, which replaces an earlier one. A 404 replaces only a
   * 508, and a 508 replaces nothing.
   */
  public void buffer(BufferedResponse answer) {
    if (buffered != null && !replaces(answer, buffered)) {
      answer.release();
      return;
    }
    release();
    buffered = answer;
    if (answer.rests() && answer.retryAfterSeconds() > 0) {
      long rest = Reply.seconds(answer.restNanos());
      shortestRest = shortestRest == 0 ? rest : Math.min(shortestRest, rest);
    }
  }

  /**
   * The buffered error, with its ownership; null if there is none. A 404 or a 508 is dropped if it
   * is uncertain, because not all candidates have answered.
   *
   * @param someUnasked true if a candidate was not tried
   */
  public @Nullable BufferedResponse takeBuffered(boolean someUnasked) {
    boolean someSilent = lastError != null || someUnasked;
    if (buffered != null && uncertain(buffered) && someSilent) {
      release();
    }
    BufferedResponse taken = buffered;
    buffered = null;
    return taken;
  }

  private static boolean replaces(BufferedResponse answer, BufferedResponse earlier) {
    return switch (answer.status()) {
      case NOT_FOUND -> earlier.status() == BufferedResponse.LOOP;
      case BufferedResponse.LOOP -> false;
      default -> true;
    };
  }

  /** True if another worker may do better than this answer says. */
  private static boolean uncertain(BufferedResponse answer) {
    return answer.status() == NOT_FOUND || answer.status() == BufferedResponse.LOOP;
  }

  public @Nullable ProxyError lastError() {
    return lastError;
  }

  /**
   * Shortest rest of the busy workers in seconds; 0 if unknown.
   *
   * @param restNanos shortest rest of all workers in nanoseconds, from the engine; 0 if unknown
   */
  public long shortestRestSeconds(long restNanos) {
    long rest = restNanos > 0 ? Reply.seconds(restNanos) : shortestRest;
    return shortestRest > 0 ? Math.min(shortestRest, rest) : rest;
  }

  /**
   * Requests another attempt; false if it is not permitted. A busy worker has not started the
   * request, so it does not count as an attempt; all others are tried. A worker without the stored
   * response or without the model does not count either; for the model, {@link
   * #anotherWithoutModel} limits their number.
   */
  public boolean another(RetryReason reason, long now) {
    if (reason == RetryReason.NOT_THERE) {
      notThere++;
      return true;
    }
    if (reason == RetryReason.BUSY && settings.maxAttempts() > 1) {
      return attempts < MOST_ASKED && budget.withdraw(now);
    }
    return attempts - notThere < settings.maxAttempts() && budget.withdraw(now);
  }

  /** Records a worker without the model; false if no further one may get the request. */
  public boolean anotherWithoutModel() {
    return withoutModel++ < MOST_WITHOUT_MODEL;
  }

  /** True if {@link #another} would permit an attempt after a worker is lost. */
  public boolean mayLeaveWorker(long now) {
    return attempts - notThere < settings.maxAttempts() && budget.has(now);
  }

  /**
   * Delay before the next attempt, in nanoseconds. It is 0 if the worker has not started the
   * request, aborted it, or is lost.
   */
  public long waitNanos(RetryReason reason) {
    return switch (reason) {
      case CONNECT, BUSY, NOT_THERE, STALE, LOST, ABORTED -> 0;
      case RESET, LATE_RESET, PROTOCOL, TIMEOUT, STATUS -> backoff.nanos(waits++);
    };
  }

  /** Releases the buffered error. */
  public void release() {
    if (buffered != null) {
      buffered.release();
      buffered = null;
    }
  }
}

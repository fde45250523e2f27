package io.pointsman.proxy.retry;

import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.reply.Reply;
import io.pointsman.proxy.telemetry.RetryReason;
import org.jspecify.annotations.Nullable;

/**
 * What one request has tried so far, and whether it may try again: attempts, the budget, and the
 * last error, which the client gets in the end. Belongs to the event loop.
 */
public final class RetryPlan {
  /** Workers asked at most when those asked are busy. */
  private static final int MOST_ASKED = 64;

  private static final int NOT_FOUND = 404;

  private final RetrySettings settings;
  private final Backoff backoff;
  private final RetryBudget budget;
  private int attempts;

  /** Attempts on workers that do not have what is looked for. */
  private int notThere;

  private int waits;
  private long shortestRest;
  private @Nullable HeldAnswer held;
  private @Nullable ProxyError lastError;

  public RetryPlan(RetrySettings settings, Backoff backoff, RetryBudget budget) {
    this.settings = settings;
    this.backoff = backoff;
    this.budget = budget;
  }

  public void attempted() {
    attempts++;
  }

  /** Whether an answer with this status might be followed by another attempt. */
  public boolean mayRetryAfter(int status) {
    return attempts - notThere < settings.maxAttempts() && retryable(status);
  }

  public static boolean retryable(int status) {
    return switch (status) {
      case 408, 429, 500, 502, 503, 504 -> true;
      default -> false;
    };
  }

  /** An attempt ended without an answer. */
  public void failed(ProxyError error) {
    lastError = error;
  }

  /**
   * An attempt ended with an error that is kept; it takes the place of an earlier one, unless it
   * says no more than that this worker does not have what is looked for.
   */
  public void hold(HeldAnswer answer) {
    if (held != null && answer.status() == NOT_FOUND) {
      answer.release();
      return;
    }
    release();
    held = answer;
    if (answer.busy() && answer.retryAfterSeconds() > 0) {
      long rest = Reply.seconds(answer.restNanos());
      shortestRest = shortestRest == 0 ? rest : Math.min(shortestRest, rest);
    }
  }

  /**
   * The error that is kept, handed over; null if there is none that tells the whole truth.
   *
   * @param someUnasked whether some were not asked who may have what the others do not
   */
  public @Nullable HeldAnswer takeHeld(boolean someUnasked) {
    boolean someSilent = lastError != null || someUnasked;
    if (held != null && held.status() == NOT_FOUND && someSilent) {
      release();
    }
    HeldAnswer taken = held;
    held = null;
    return taken;
  }

  public @Nullable ProxyError lastError() {
    return lastError;
  }

  /**
   * When the first of the busy workers takes requests again, in seconds; 0 if not known.
   *
   * @param restNanos the shortest rest of all workers, as the engine knows it; 0 if it does not
   */
  public long shortestRestSeconds(long restNanos) {
    long rest = restNanos > 0 ? Reply.seconds(restNanos) : shortestRest;
    return shortestRest > 0 ? Math.min(shortestRest, rest) : rest;
  }

  /**
   * Takes leave for another attempt; false if it must not be made. A busy worker has not begun with
   * the request, so it does not count against the attempts: all others are asked. Nor does one that
   * does not have what is looked for.
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

  /**
   * How long to wait before another attempt. A worker that refused or is busy has not begun with
   * the request, so the next one is asked at once.
   */
  public long waitNanos(RetryReason reason) {
    return switch (reason) {
      case CONNECT, BUSY, NOT_THERE, STALE -> 0;
      case RESET, LATE_RESET, PROTOCOL, TIMEOUT, STATUS -> backoff.nanos(waits++);
    };
  }

  /** Lets go of the error that is kept. */
  public void release() {
    if (held != null) {
      held.release();
      held = null;
    }
  }
}

package io.pointsman.proxy.exchange;

import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.handler.Candidates;
import io.pointsman.proxy.handler.UpstreamRequest;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.retry.BufferedResponse;
import io.pointsman.proxy.retry.RetryPlan;
import io.pointsman.proxy.telemetry.RetryReason;
import org.jspecify.annotations.Nullable;

/**
 * The rules for another attempt of one request, and the best error of its attempts. It decides, and
 * the exchange acts. Belongs to the client's event loop.
 */
final class Retries {
  /** The next step after a failed attempt. */
  enum Next {
    AGAIN,
    /** Another request at a failed engine will show if the engine fails by itself. */
    ASK_LATER,
    GIVE_UP
  }

  /** Delay before the next look at an undecided failure. */
  static final long PAUSE_NANOS = 25_000_000L;

  /** Status of a worker without the stored response, or without the model. */
  private static final int NOT_FOUND = 404;

  /** Pauses of a request after two failed engines until it is given up: 0.25 s. */
  private static final int MOST_VERDICTS = 10;

  private final ExchangeParts parts;
  private final @Nullable String model;
  private final Candidates candidates;
  private final RetryPlan plan;
  private int verdicts;

  /** True after the first late reset or lost worker. A second one ends the request. */
  private boolean brokeLate;

  /**
   * @param model model of the request; null if it names none
   * @param candidates workers that may get the request
   */
  Retries(ExchangeParts parts, @Nullable String model, Candidates candidates) {
    this.parts = parts;
    this.model = model;
    this.candidates = candidates;
    plan =
        new RetryPlan(
            parts.server().live().retry(), parts.server().live().backoff(), parts.state().budget());
  }

  /** Records the start of an attempt. */
  void attempted() {
    plan.attempted();
  }

  /**
   * True if an answer with this status is buffered until it is complete. Either a retry is
   * possible, or only the body distinguishes a busy or ending engine from a failed one.
   */
  boolean holds(int status) {
    boolean retried = parts.repeatable() && plan.mayRetryAfter(status);
    boolean again = parts.body().replayable() && (candidates.goesOnAfter(status) || retried);
    return again || bodyDecides(status) || (status == BufferedResponse.LOOP && mayRepeat());
  }

  /** True if the body of an answer with this status can report a busy worker. */
  private static boolean bodyDecides(int status) {
    return switch (status) {
      case 429, 500, BufferedResponse.BUSY, BufferedResponse.OVERLOADED -> true;
      default -> false;
    };
  }

  /** True if a complete answer with this status leads to another worker, beside the retries. */
  boolean goesOnAfter(int status) {
    return parts.body().replayable() && candidates.goesOnAfter(status);
  }

  /** Requests another worker, because one does not serve the model any more. */
  boolean anotherWithoutModel() {
    return parts.body().replayable()
        && candidates.goesOnWithoutModel()
        && plan.anotherWithoutModel();
  }

  /** True if another worker may get the request after this one has started it. */
  boolean mayRepeat() {
    return parts.repeatable() && parts.body().replayable();
  }

  /** True if a worker other than {@code than} can serve the request now. */
  boolean mayUseAnother(Worker than) {
    long now = parts.state().now();
    Pool pool = pool(than);
    return pool != null
        && mayRepeat()
        && pool.any(other -> other != than && candidates.admits(other, now));
  }

  /** True if another attempt is permitted now, and another healthy worker is available. */
  boolean mayLeaveWorker(Worker lost, UpstreamRequest request) {
    long now = parts.state().now();
    Pool pool = pool(lost);
    return mayGoElsewhere(RetryReason.LOST, request)
        && plan.mayLeaveWorker(now)
        && pool != null
        && pool.any(
            other -> other != lost && other.health().healthy() && candidates.admits(other, now));
  }

  private @Nullable Pool pool(Worker of) {
    return parts.server().engine().pool(of.spec().role(), model);
  }

  /**
   * Records an attempt without an answer.
   *
   * @return true if another worker may get the request
   */
  boolean unanswered(UpstreamRequest request, RetryReason reason, ProxyError error) {
    plan.failed(error);
    boolean possible = mayGoElsewhere(reason, request);
    brokeLate |= reason == RetryReason.LATE_RESET || reason == RetryReason.LOST;
    return possible;
  }

  /**
   * Records an attempt that ended with an error. The client gets it if no other attempt does
   * better.
   *
   * @param error ownership passes to this object
   * @return true if another worker may get the request
   */
  boolean refused(UpstreamRequest request, RetryReason reason, BufferedResponse error) {
    plan.buffer(error);
    return !error.limitsCaller() && mayGoElsewhere(reason, request);
  }

  /** The reason for another attempt after an error of a worker. */
  static RetryReason reason(BufferedResponse error) {
    if (error.status() == NOT_FOUND) {
      return RetryReason.NOT_THERE;
    }
    boolean unstarted = error.busy() || error.status() == BufferedResponse.LOOP;
    return unstarted ? RetryReason.BUSY : RetryReason.STATUS;
  }

  /**
   * True if another worker may get the request. A worker that was busy or unreachable has not
   * started it.
   */
  private boolean mayGoElsewhere(RetryReason reason, UpstreamRequest request) {
    if (!parts.body().replayable()) {
      return false;
    }
    boolean leaves = request.rules().leavesStarted();
    return switch (reason) {
      case CONNECT, BUSY, NOT_THERE, STALE -> true;
      case RESET, PROTOCOL, STATUS, ABORTED -> repeatable();
      case LATE_RESET, LOST ->
          repeatable()
              && (leaves || (parts.server().live().retry().afterLateReset() && !brokeLate));
      case TIMEOUT -> repeatable() && (leaves || parts.server().live().retry().afterTimeout());
    };
  }

  /** True if another worker may get the request although this one has started it. */
  boolean repeatable() {
    return parts.repeatable() && parts.faults().mayGoOn();
  }

  /**
   * The next step. If only the number of failed engines forbids another attempt, evidence that one
   * of them fails by itself may come.
   *
   * @param possible true if another worker may get the request
   */
  Next next(RetryReason reason, boolean possible) {
    boolean limited = reason == RetryReason.RESET || reason == RetryReason.STATUS;
    boolean undecided = !possible && limited && mayRepeat() && parts.faults().undecided();
    if (undecided && verdicts < MOST_VERDICTS) {
      verdicts++;
      return Next.ASK_LATER;
    }
    return possible && plan.another(reason, parts.state().now()) ? Next.AGAIN : Next.GIVE_UP;
  }

  /** Delay before the next attempt, in nanoseconds. */
  long waitNanos(RetryReason reason) {
    return plan.waitNanos(reason);
  }

  /** The buffered error of the attempts, with its ownership; null if there is none. */
  @Nullable BufferedResponse takeError() {
    return plan.takeBuffered(candidates.someUntried());
  }

  /** The error of the last attempt without an answer; null if there is none. */
  @Nullable ProxyError lastError() {
    return plan.lastError();
  }

  /**
   * Value of {@code Retry-After} for a worker's error; 0 for the worker's own.
   *
   * @param restNanos shortest rest of all workers in nanoseconds, from the engine; 0 if unknown
   */
  long restSeconds(BufferedResponse error, long restNanos) {
    return error.rests() ? Math.max(1, plan.shortestRestSeconds(restNanos)) : 0;
  }

  /** Releases the buffered error, because an answer is relayed or the request has ended. */
  void release() {
    plan.release();
  }
}

package io.pointsman.engine.fleet;

import io.pointsman.engine.env.Ticker;

/** Signs whether one worker fails by itself or because of a request. Any thread. */
public final class FailureSigns {
  /** Minimum difference of two dispatches if the engine must get both in this order: 50 ms. */
  private static final long IN_ORDER_NANOS = 50_000_000L;

  /** Time per token of a prompt until its request is in the engine's queue: 4 us. */
  private static final long QUEUED_NANOS_PER_TOKEN = 4_000L;

  private final HealthState health;
  private final Ticker ticker;
  private final FailureRun run = new FailureRun();

  /** Time at which the last good probe was sent; far in the past before the first. */
  private volatile long goodProbeAt;

  /** Latest dispatch of a request with output; far in the past before the first. */
  private volatile long newestServedAt;

  FailureSigns(HealthState health, Ticker ticker) {
    this.health = health;
    this.ticker = ticker;
    goodProbeAt = ticker.nanos() - Long.MAX_VALUE / 2;
    newestServedAt = goodProbeAt;
  }

  void failed(long placedAt) {
    run.failed(placedAt, ticker.nanos());
  }

  /** Records that the worker has served a request, or has recovered from an outage. */
  void served() {
    run.served();
  }

  /**
   * Records the output of a good response.
   *
   * @param sentAt dispatch of its request
   */
  void served(long sentAt) {
    run.served();
    if (sentAt - newestServedAt > 0) {
      newestServedAt = sentAt; // A lost update of another thread only hides a proof.
    }
  }

  /**
   * Returns true if a request has output that reached the engine's queue after that of the lease.
   * If the engine computes prompts in the order of arrival, it has then survived the prompt of the
   * lease. Engines split a prompt into tokens before its request is in their queue, so later
   * requests can pass a long prompt. For the thread that reports the dispatch of the lease.
   */
  public boolean hasOutlived(Lease lease) {
    long inOrder = IN_ORDER_NANOS + lease.promptTokens() * QUEUED_NANOS_PER_TOKEN;
    return newestServedAt - lease.sentAt() > inOrder;
  }

  /** Records that the worker answered a probe well that was sent at {@code at}, by the ticker. */
  public void answeredProbeOf(long at) {
    goodProbeAt = at;
  }

  /**
   * Returns true if other requests had failed on the worker before {@code placedAt}, by the ticker,
   * and it has served none since. Failures older than 5 s do not count.
   */
  public boolean failingSince(long placedAt) {
    return run.covers(placedAt, ticker.nanos());
  }

  /** Returns true if the worker's last failure was the first one since it served a request. */
  public boolean startedFailing() {
    return run.length() == 1;
  }

  /**
   * Returns true if the worker fails by itself since {@code then}, by the ticker: it failed a
   * request that was placed later, has served none since, and answers probes well.
   */
  public boolean failsByItself(long then) {
    return health.healthy() && goodProbeAt - then > 0 && run.continuedAfter(then);
  }

  /**
   * Returns true if the worker may turn out to fail by itself: it has served no request since it
   * failed.
   */
  public boolean mayFailByItself() {
    return health.healthy() && run.failing();
  }
}

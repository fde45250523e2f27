package io.pointsman.engine.deferral;

import io.soabase.recordbuilder.core.RecordBuilder;
import java.time.Duration;

/**
 * Settings for deferred requests.
 *
 * @param beyond a request is deferred while every worker is full and its estimated wait before
 *     prefill is longer than this; 0 defers none. A worker is full if a complete engine step is
 *     queued before the request, or if its memory has no room for the prompt. A long time leaves
 *     requests with workers that were chosen too early.
 * @param longest longest deferral, more than 0; then the request is placed on the worker with the
 *     shortest wait. A short time loses the gain. A long time keeps prompts that no worker has
 *     memory for in the router.
 * @param most maximum number of deferred requests; 0 defers none. One more displaces the first of
 *     its queue, or is placed if that queue is empty. The same number may wait for a worker.
 * @param withoutWorker maximum wait of a request while no worker is available; 0: none waits
 */
@RecordBuilder
public record DeferralSettings(Duration beyond, Duration longest, int most, Duration withoutWorker)
    implements DeferralSettingsBuilder.With {
  /** The best values for recorded conversations (docs/evidence/routing-quality.md). */
  public static final DeferralSettings DEFAULTS =
      new DeferralSettings(Duration.ofMillis(25), Duration.ofSeconds(5), 100);

  /** Settings under which no request waits for a worker. */
  public DeferralSettings(Duration beyond, Duration longest, int most) {
    this(beyond, longest, most, Duration.ZERO);
  }

  public DeferralSettings {
    if (beyond.isNegative()) {
      throw new IllegalArgumentException("beyond: " + beyond + " (expected: >= 0)");
    }
    if (!longest.isPositive()) {
      throw new IllegalArgumentException("longest: " + longest + " (expected: > 0)");
    }
    if (most < 0) {
      throw new IllegalArgumentException("most: " + most + " (expected: >= 0)");
    }
    if (withoutWorker.isNegative()) {
      throw new IllegalArgumentException("withoutWorker: " + withoutWorker + " (expected: >= 0)");
    }
  }

  boolean off() {
    return beyond.isZero() || most == 0;
  }
}

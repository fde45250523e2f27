package io.pointsman.engine.holdback;

import java.time.Duration;

/**
 * When requests are held back in the router, how long and how many.
 *
 * @param beyond a request is held back while every worker is full and would make it wait longer
 *     than this before it computes the prompt; 0 holds none back. A worker is full if it has a
 *     whole further step to do, or no memory for the prompt. A long time leaves requests with
 *     workers that were chosen too early.
 * @param longest then it is placed wherever it waits least, above 0. Short gives up what is gained;
 *     long lets prompts that nobody has memory for wait here rather than with a worker.
 * @param most most requests that are held back at once; when one more comes, the first of its line
 *     is placed, or itself if nobody waits there. 0 holds none back.
 */
public record HoldBackSettings(Duration beyond, Duration longest, int most) {
  /** What gains most on recorded conversations (docs/evidence/routing-quality.md). */
  public static final HoldBackSettings DEFAULTS =
      new HoldBackSettings(Duration.ofMillis(25), Duration.ofSeconds(5), 100);

  public HoldBackSettings {
    if (beyond.isNegative()) {
      throw new IllegalArgumentException("beyond: " + beyond + " (expected: >= 0)");
    }
    if (!longest.isPositive()) {
      throw new IllegalArgumentException("longest: " + longest + " (expected: > 0)");
    }
    if (most < 0) {
      throw new IllegalArgumentException("most: " + most + " (expected: >= 0)");
    }
  }

  /** The same with another {@code beyond}. */
  public HoldBackSettings withBeyond(Duration beyond) {
    return new HoldBackSettings(beyond, longest, most);
  }

  boolean off() {
    return beyond.isZero() || most == 0;
  }
}

package io.pointsman.engine.policy.cost.latency;

import java.util.Collection;

/**
 * Follows the steps of one engine: the prompts of the current step, and the prompts that wait for a
 * later one. An engine adds waiting prompts to a step in the order of arrival, up to a number of
 * tokens. A step ends when its first tokens arrive; then the next one starts.
 *
 * <p>A prompt longer than a step takes several steps. They count as one long step.
 *
 * <p>Guarded by its worker's lock.
 */
final class StepTracker {
  private final Collection<InFlight> pending;
  private long startedAt;
  private int stepRequests;
  private long stepTokens;
  private int queued;
  private long queuedTokens;
  private long lateTokens;

  /** End of the last step; before any time if there was none. */
  private long endedAt = Long.MIN_VALUE / 2;

  /**
   * @param pending requests without a first token, in order of arrival; a live view
   */
  StepTracker(Collection<InFlight> pending) {
    this.pending = pending;
  }

  PrefillState state() {
    return new PrefillState(startedAt, stepRequests, stepTokens, lateTokens, queued, queuedTokens);
  }

  /**
   * Adds a request, which must be the last of the pending ones.
   *
   * @param startsAt start of its step if the engine computes no other prompt
   * @param most maximum tokens of a step
   */
  void add(InFlight entry, long startsAt, double most) {
    long now = entry.placedAt;
    if (stepRequests == 0) {
      start(startsAt, most);
    } else if (!started(now) && stepTokens < most) {
      take(entry, most - stepTokens);
    } else {
      queue(entry);
    }
  }

  /**
   * Records a first token.
   *
   * @param sameStepNanos first tokens within this time belong to one step
   * @return tokens of prompts that the ended step computed in part; -1 if the step had ended before
   */
  long end(long at, long sameStepNanos) {
    if (at - endedAt <= sameStepNanos) {
      return -1;
    }
    endedAt = at;
    long partial = 0;
    for (InFlight entry : pending) {
      entry.finishing = entry.inStep > 0 && entry.inStep >= entry.left();
      if (entry.inStep > 0 && !entry.finishing) {
        entry.done += entry.inStep;
        partial += entry.inStep;
      }
    }
    return partial;
  }

  /** Starts a step with the pending requests. Requests that have just finished take no part. */
  void start(long at, double most) {
    startedAt = at;
    stepRequests = 0;
    stepTokens = 0;
    queued = 0;
    queuedTokens = 0;
    lateTokens = 0;
    for (InFlight entry : pending) {
      if (entry.finishing) {
        lateTokens += entry.left();
      } else if (stepRequests == 0) {
        // The first request continues until its prompt is computed.
        take(entry, Math.max(most, entry.left()));
      } else if (stepTokens < most) {
        take(entry, most - stepTokens);
      } else {
        queue(entry);
      }
    }
  }

  private void take(InFlight entry, double most) {
    int left = entry.left();
    entry.inStep = Math.max(1, (int) Math.min(left, most));
    stepTokens += entry.inStep;
    stepRequests++;
    queuedTokens += Math.max(0, left - entry.inStep);
  }

  private void queue(InFlight entry) {
    entry.inStep = 0;
    queued++;
    queuedTokens += entry.left();
  }

  /**
   * Removes a request that is no longer pending.
   *
   * @param computed true if its prompt is computed; false if the request ended before
   */
  void remove(InFlight entry, boolean computed, long now, double most) {
    if (entry.finishing) {
      lateTokens = Math.max(0, lateTokens - entry.left());
      return;
    }
    if (entry.inStep > 0) {
      stepRequests--;
      // A started step takes its time in any case.
      stepTokens -= computed || started(now) ? 0 : entry.inStep;
      queuedTokens -= Math.max(0, entry.left() - entry.inStep);
    } else {
      queued--;
      queuedTokens -= entry.left();
    }
    if (stepRequests == 0) {
      start(now, most);
    }
  }

  private boolean started(long now) {
    return now - startedAt >= 0;
  }

  /**
   * Adds tokens to a pending request, because the request that should have computed them has ended.
   */
  void grow(InFlight entry, int tokens, long now) {
    if (entry.finishing) {
      lateTokens += tokens;
    } else if (entry.inStep > 0) {
      entry.inStep += tokens;
      // In a started step these tokens are counted already.
      stepTokens += started(now) ? 0 : tokens;
    } else {
      queuedTokens += tokens;
    }
  }
}

package io.pointsman.engine.policy.cost.latency;

import java.util.Collection;

/**
 * Follows the steps of one engine: which prompts the present step computes, and which wait for a
 * later one. An engine takes waiting prompts into a step in the order of their arrival, up to a
 * number of tokens. A step ends when its first tokens arrive; then the next one starts.
 *
 * <p>A prompt that is longer than a step takes several. They count as one long step.
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

  /** When the last step ended: before any time if none has. */
  private long endedAt = Long.MIN_VALUE / 2;

  /**
   * @param pending the requests without a first token, in the order of their arrival; a live view
   */
  StepTracker(Collection<InFlight> pending) {
    this.pending = pending;
  }

  PrefillState state() {
    return new PrefillState(startedAt, stepRequests, stepTokens, lateTokens, queued, queuedTokens);
  }

  /**
   * A request has arrived; it is the last of those pending.
   *
   * @param startsAt when its step starts if the engine computes no other prompt
   * @param most tokens of a step
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
   * A first token has arrived.
   *
   * @param sameStepNanos first tokens that arrive within this time belong to one step
   * @return tokens of prompts that the ended step computed in part; -1 if the step was known to
   *     have ended
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

  /** Starts a step with the requests that are pending, but for those that finish just now. */
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
        // The head goes on until it is done.
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
   * A request is no longer pending.
   *
   * @param computed whether its prompt is computed; otherwise it was given up
   */
  void remove(InFlight entry, boolean computed, long now, double most) {
    if (entry.finishing) {
      lateTokens = Math.max(0, lateTokens - entry.left());
      return;
    }
    if (entry.inStep > 0) {
      stepRequests--;
      // A step that has started takes its time in any case.
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
   * A pending request has to compute tokens that another one was to compute, which was given up.
   */
  void grow(InFlight entry, int tokens, long now) {
    if (entry.finishing) {
      lateTokens += tokens;
    } else if (entry.inStep > 0) {
      entry.inStep += tokens;
      // Those of a step that has started are among its tokens already.
      stepTokens += started(now) ? 0 : tokens;
    } else {
      queuedTokens += tokens;
    }
  }
}

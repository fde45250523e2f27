package io.pointsman.proxy.telemetry;

import io.pointsman.engine.disagg.SplitRule;
import io.pointsman.engine.disagg.plan.Unsplittable;
import org.jspecify.annotations.Nullable;

/**
 * Hears of what becomes of requests that two workers may serve. Called on event loops, many at
 * once: must not block, throw, or allocate.
 */
public interface SplitListener {
  /** Hears nothing. */
  SplitListener NONE =
      new SplitListener() {
        @Override
        public void decided(SplitRule rule, @Nullable Unsplittable why) {}

        @Override
        public void stage(Stage stage, long nanos) {}

        @Override
        public void prefill(PrefillEnd end) {}

        @Override
        public void handover(HandoverEnd end) {}
      };

  /** A part of such a request that takes time. */
  enum Stage {
    /** Waiting for a place on workers that are at their limits. */
    SLOT,
    /** From the prefill request to the end of its answer. */
    PREFILL,
    /** From there to the last notification of the hand-over. */
    NOTIFICATION,
    /** From the decode request to the head of its answer. */
    DECODE
  }

  /** How a prefill ended. */
  enum PrefillEnd {
    DONE,
    /** An error of the client's, which the client got. */
    CLIENT_ERROR,
    /** The worker was busy. */
    BUSY,
    /** The worker failed. */
    ERROR,
    /** It took longer than allowed. */
    TIMEOUT,
    /** It was given up: the client left, or its decode request failed. */
    ABORTED,
    /** It could not be planned: something is not known of a worker. */
    UNPLANNED
  }

  /** What became of a hand-over. */
  enum HandoverEnd {
    /** The decode worker that it was reserved on has answered. */
    TAKEN,
    /** Another decode worker took it. */
    RETAKEN,
    /** The prefill's answer handed nothing over: decode computes the prompt. */
    EMPTY,
    /** It came too late, or could not be taken by another worker: the prompt is computed anew. */
    RECOMPUTED,
    /** The prefill's answer was all there was. */
    COMPLETE,
    /** Nobody wanted it any more, and a decode worker was asked to free it. */
    RELEASED,
    /**
     * Nobody wanted it any more, and it could not be freed: the engine does when its lease ends.
     */
    LEFT
  }

  /** A request was decided, by this rule. */
  void decided(SplitRule rule, @Nullable Unsplittable why);

  /** A stage took so long. */
  void stage(Stage stage, long nanos);

  /** A prefill has ended. */
  void prefill(PrefillEnd end);

  /** A hand-over has come to its end. */
  void handover(HandoverEnd end);
}

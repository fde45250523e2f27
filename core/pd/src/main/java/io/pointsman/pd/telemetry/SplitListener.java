package io.pointsman.pd.telemetry;

import io.pointsman.pd.plan.Unsplittable;
import io.pointsman.pd.rule.SplitRule;
import org.jspecify.annotations.Nullable;

/**
 * Receiver of events of requests that prefill and decode workers can share. Called on event loops,
 * by several threads; must not block, throw or allocate.
 */
public interface SplitListener {
  /** Ignores all events. */
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

  /** A stage of such a request. */
  enum Stage {
    /** Wait for a free slot on workers at their limits. */
    SLOT,
    /** From the prefill request to the end of its answer. */
    PREFILL,
    /** From the prefill's answer to the last notification of the KV transfer. */
    NOTIFICATION,
    /** From the decode request to the head of its answer. */
    DECODE
  }

  /** Result of a prefill. */
  enum PrefillEnd {
    DONE,
    /** An error of the client, which the client received. */
    CLIENT_ERROR,
    /** The worker was busy. */
    BUSY,
    /** The worker failed. */
    ERROR,
    /** The timeout expired. */
    TIMEOUT,
    /** Cancelled: the client left, or the decode request failed. */
    ABORTED,
    /** Not planned: a property of a worker is unknown. */
    UNPLANNED
  }

  /** Result of a handover of KV blocks. */
  enum HandoverEnd {
    /** The decode worker for which they were reserved answered. */
    TAKEN,
    /** Another decode worker took them. */
    RETAKEN,
    /** The prefill's answer offered no blocks. Decode computes the prompt. */
    EMPTY,
    /**
     * The blocks came too late, or another worker could not take them. The prompt is computed
     * again.
     */
    RECOMPUTED,
    /** The prefill's answer was the complete answer. */
    COMPLETE,
    /** No request needed the blocks, and a decode worker was requested to free them. */
    RELEASED,
    /**
     * No request needed the blocks, and the router could not free them. The engine frees them when
     * its lease ends.
     */
    LEFT
  }

  /**
   * Reports the rule that decided about a request.
   *
   * @param why reason why the request cannot be split; null if it can
   */
  void decided(SplitRule rule, @Nullable Unsplittable why);

  /** Reports the duration of a stage in nanoseconds. */
  void stage(Stage stage, long nanos);

  /** Reports the end of a prefill. */
  void prefill(PrefillEnd end);

  /** Reports the end of a handover. */
  void handover(HandoverEnd end);
}

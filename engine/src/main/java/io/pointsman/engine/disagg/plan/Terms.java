package io.pointsman.engine.disagg.plan;

import java.time.Duration;
import java.util.List;

/**
 * How long a hand-over is good, for whom, and how it is given up.
 *
 * @param bond who may take it
 * @param lease how long after the prefill's answer the decode request must have arrived; after that
 *     the prompt is computed anew
 * @param release what frees what the engines hold for it
 * @param releasing for {@link Release#SEND_DECODE}, {@link Release#SEND_ONCE} and {@link
 *     Release#CANCEL_OR_SEND}: what is changed in the decode request, beside its own edits, so that
 *     it ends as soon as the blocks are taken over; else empty
 */
public record Terms(Bond bond, Duration lease, Release release, List<BodyEdit> releasing) {
  public Terms {
    releasing = List.copyOf(releasing);
  }

  /** Which decode workers may take a hand-over. */
  public enum Bond {
    /** Any: nothing was made out to one. */
    ANY_DECODE,
    /** Only the one that the plan was made for: another one needs a new prefill. */
    THIS_DECODE
  }

  /** What is done when the client has left, or when decode cannot go on. */
  public enum Release {
    /** Nothing: no engine holds anything for the request. Whatever still runs is cancelled. */
    NOTHING,
    /**
     * A prefill under way is cancelled. If it is finished, cancelling frees nothing: the decode
     * request is sent all the same, made short, because the blocks are freed by whoever fetches
     * them.
     */
    SEND_DECODE,
    /**
     * Prefill has sent its blocks to decode by the time it answers. The decode engine keeps them
     * until a request with their id has ended there, and waits without end for blocks that it does
     * not have. So it gets the decode request at most once: made short, as with {@link
     * #SEND_DECODE}, if it was not sent yet when nobody wants its answer any more.
     */
    SEND_ONCE,
    /** Both requests are cancelled at once: each waits for the other. */
    CANCEL_BOTH,
    /**
     * Decode waits for prefill, which does not wait for decode. As long as prefill runs, both
     * requests are cancelled at once. If it is finished, it holds its blocks, and the decode
     * request is sent again, made short, as with {@link #SEND_DECODE}.
     */
    CANCEL_OR_SEND
  }
}

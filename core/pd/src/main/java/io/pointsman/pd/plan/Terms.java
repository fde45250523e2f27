package io.pointsman.pd.plan;

import io.pointsman.request.splice.BodyEdit;
import java.time.Duration;
import java.util.List;

/**
 * The validity of a handover and its release.
 *
 * @param bond the decode workers that may use it
 * @param lease longest time from the prefill response to the arrival of the decode request;
 *     afterwards the prompt is computed again
 * @param release the action that frees the engines' resources
 * @param releasing for {@link Release#SEND_DECODE}, {@link Release#SEND_ONCE} and {@link
 *     Release#CANCEL_OR_SEND}: additional edits that end the decode request as soon as the blocks
 *     are transferred; else empty
 */
public record Terms(Bond bond, Duration lease, Release release, List<BodyEdit> releasing) {
  public Terms {
    releasing = List.copyOf(releasing);
  }

  /** The decode workers that may use a handover. */
  public enum Bond {
    /** Any: the handover names no decode worker. */
    ANY_DECODE,
    /** Only the planned one: another requires a new prefill. */
    THIS_DECODE
  }

  /** The action when the client has left or decode cannot continue. */
  public enum Release {
    /** No action: no engine holds resources for the request. Running requests are cancelled. */
    NOTHING,
    /**
     * Cancel a running prefill. After prefill, cancelling frees nothing, because the fetching
     * worker frees the blocks. The decode request is therefore sent in short form.
     */
    SEND_DECODE,
    /**
     * Send the decode request at most once. Prefill has transferred its blocks to decode before its
     * response. The decode engine keeps them until a request with their id ends there. Without the
     * blocks, such a request waits forever. If the decode request was not sent yet, it is sent in
     * short form, as with {@link #SEND_DECODE}.
     */
    SEND_ONCE,
    /** Cancel both requests at once: each waits for the other. */
    CANCEL_BOTH,
    /**
     * Decode waits for prefill, but prefill does not wait for decode. While prefill runs, cancel
     * both requests. After prefill, its worker holds the blocks, so the decode request is sent
     * again in short form, as with {@link #SEND_DECODE}.
     */
    CANCEL_OR_SEND
  }
}

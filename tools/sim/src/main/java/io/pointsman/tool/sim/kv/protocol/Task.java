package io.pointsman.tool.sim.kv.protocol;

import io.pointsman.tool.sim.kv.Claim;
import io.pointsman.tool.sim.kv.FieldError;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The use of an engine's KV by a request. */
public sealed interface Task {
  /**
   * An engine's side channel.
   *
   * @param host its host
   * @param port its port
   * @param field the field that contains it, for errors
   */
  record SideChannel(String host, int port, String field) {}

  /** None: the request is served completely. */
  record Direct() implements Task {}

  /**
   * Compute the prompt and provide its KV.
   *
   * @param keys keys under which it is reserved, the request's own first
   * @param keyField the field that contains the others, for errors
   * @param rank data-parallel rank it runs on
   * @param clamp true if exactly one token is generated, independent of the request
   * @param before the required first step
   * @param after the treatment of the KV afterwards
   */
  record Produce(
      List<String> keys, String keyField, int rank, boolean clamp, Before before, After after)
      implements Task {}

  /**
   * Fetch KV from its holder.
   *
   * @param peer the holder
   * @param claim the claim on the KV
   * @param tokens number of prompt tokens that it covers
   * @param waits true if it may not be present yet
   */
  record Consume(SideChannel peer, Claim claim, int tokens, boolean waits) implements Task {}

  /**
   * Use KV that another engine has pushed here.
   *
   * @param hash of the prompt without its last token
   * @param tokens length of the prompt without its last token
   * @param firstToken the prompt's last token, which the pushing engine has generated
   * @param whole hash of the whole prompt, for one without that token: its last position is
   *     recomputed
   * @param constrained the error if the last token is the pushing engine's; null: none
   */
  record Arrived(
      String hash, int tokens, int firstToken, String whole, @Nullable FieldError constrained)
      implements Task {}

  /**
   * Use KV that another engine sends here once under the request's id. Wait for it without a
   * timeout, even if the client has left.
   *
   * @param claim the claim on the KV
   * @param tokens number of prompt tokens that it covers
   */
  record Awaited(Claim claim, int tokens) implements Task {}

  /** Use KV from the common store. */
  record Found() implements Task {}

  /** The step before a prompt is computed. */
  sealed interface Before {
    /** No step. */
    record Nothing() implements Before {}

    /**
     * Query the other engine's identity.
     *
     * @param tpSize required tensor-parallel size; -1: any
     * @param dpSize required data-parallel size; -1: any
     */
    record Meet(SideChannel peer, int tpSize, int dpSize) implements Before {}

    /** Open the other engine's init ports, one per rank. */
    record Init(String host, List<Integer> ports) implements Before {}

    /** Wait for a reader of the KV under one of these keys. */
    record Reader(List<String> keys) implements Before {}

    /** Fetch the history from the engine that decoded the last turn. */
    record Pull(Consume consume) implements Before {}
  }

  /** The treatment of computed KV. */
  sealed interface After {
    /** Hold it until it is released. */
    record Hold() implements After {}

    /**
     * Push it to the other engine's buffers and notify the router.
     *
     * @param first true if the other engine may be asked to continue after the token generated here
     */
    record Push(String requestId, String host, List<Integer> ports, boolean first)
        implements After {}

    /** Send it to the other engine, which keeps it under {@code key} for one request. */
    record Send(SideChannel peer, String key) implements After {}

    /** Add it to the common store. */
    record Store() implements After {}
  }
}

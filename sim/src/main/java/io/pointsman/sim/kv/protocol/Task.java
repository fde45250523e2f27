package io.pointsman.sim.kv.protocol;

import io.pointsman.sim.kv.Claim;
import io.pointsman.sim.kv.FieldError;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What a request wants of an engine's KV. */
public sealed interface Task {
  /**
   * An engine's side channel.
   *
   * @param host where it is
   * @param port where it is
   * @param field the field that names it, for errors
   */
  record Peer(String host, int port, String field) {}

  /** Nothing: the request is served whole. */
  record Direct() implements Task {}

  /**
   * Compute the prompt and hand its KV over.
   *
   * @param keys under which it is held, the request's own first
   * @param keyField the field that names the others, for errors
   * @param rank data-parallel rank it runs on
   * @param clamp whether one token is produced whatever the request says
   * @param before what must happen first
   * @param after what becomes of the KV
   */
  record Produce(
      List<String> keys, String keyField, int rank, boolean clamp, Before before, After after)
      implements Task {}

  /**
   * Fetch KV from where it is held.
   *
   * @param peer the holder
   * @param claim what it must be
   * @param tokens of the prompt that it covers
   * @param waits whether it may not be there yet
   */
  record Consume(Peer peer, Claim claim, int tokens, boolean waits) implements Task {}

  /**
   * Use KV that another engine has pushed here.
   *
   * @param hash of the prompt without its last token
   * @param tokens the same, counted
   * @param firstToken the prompt's last token, which the pushing engine has produced
   * @param whole the hash of the whole prompt, for one that comes without that token: its last
   *     position is computed once more
   * @param constrained what is wrong if the last token is the pushing engine's; null: nothing
   */
  record Arrived(
      String hash, int tokens, int firstToken, String whole, @Nullable FieldError constrained)
      implements Task {}

  /**
   * Use KV that another engine sends here under the request's id, once; until it is here, wait
   * without end, whether anybody still wants the answer or not.
   *
   * @param claim what it must be
   * @param tokens of the prompt that it covers
   */
  record Awaited(Claim claim, int tokens) implements Task {}

  /** Use KV that the shared store has. */
  record Found() implements Task {}

  /** What happens before a prompt is computed. */
  sealed interface Before {
    /** Nothing. */
    record Nothing() implements Before {}

    /**
     * The other engine is asked who it is.
     *
     * @param tpSize it must have; -1: any
     * @param dpSize it must have; -1: any
     */
    record Meet(Peer peer, int tpSize, int dpSize) implements Before {}

    /** The other engine's init ports are opened, one per rank. */
    record Init(String host, List<Integer> ports) implements Before {}

    /** Somebody waits for the KV, by one of these keys. */
    record Reader(List<String> keys) implements Before {}

    /** The history is fetched from the engine that decoded the last turn. */
    record Pull(Consume consume) implements Before {}
  }

  /** What becomes of computed KV. */
  sealed interface After {
    /** It is held until released. */
    record Hold() implements After {}

    /**
     * It is pushed to the other engine's buffers, and the router told.
     *
     * @param first whether the other engine may be asked to go on behind the token produced here
     */
    record Push(String requestId, String host, List<Integer> ports, boolean first)
        implements After {}

    /** It is sent to the other engine, which keeps it under {@code key} for one request. */
    record Send(Peer peer, String key) implements After {}

    /** It goes to the shared store. */
    record Store() implements After {}
  }
}

package io.pointsman.engine.disagg.protocol;

import static io.pointsman.engine.disagg.plan.BodyEdit.remove;
import static io.pointsman.engine.disagg.protocol.PrefillBody.KV_TRANSFER_PARAMS;

import io.pointsman.engine.disagg.plan.BodyEdit;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * What requests say of hand-overs. Prefill and decode workers believe it, connect to whatever
 * address it names and wait for blocks from there, so it is for the router to say: a client's own
 * does not reach them.
 */
public final class ForeignFields {
  /** Where {@code /v1/responses} has its id from, which may name engines. */
  static final String REQUEST_ID = "request_id";

  /** SGLang's: the rank that a request is for, and the one where decode finds its prefill. */
  static final String RANK = "routed_dp_rank";

  static final String PREFILL_RANK = "disagg_prefill_dp_rank";

  private static final List<BodyEdit> ALL =
      List.of(
          remove(KV_TRANSFER_PARAMS),
          // By the two other ways in which vLLM lets them into a request.
          remove("vllm_xargs", KV_TRANSFER_PARAMS),
          remove("sampling_params", "extra_args", KV_TRANSFER_PARAMS),
          remove("disagg_prefill_resp"),
          remove(PREFILL_RANK),
          remove("bootstrap_host"),
          remove("bootstrap_port"),
          remove("bootstrap_room"),
          remove("bootstrap_pair_key"),
          remove(REQUEST_ID));

  /** The rank that a client names is one engine's: two of them cannot both go by it. */
  private static final List<BodyEdit> OF_A_PART =
      Stream.concat(ALL.stream(), Stream.of(remove(RANK), remove("data_parallel_rank"))).toList();

  private ForeignFields() {}

  /** Takes all of it out of the body of a request that one worker serves. */
  public static List<BodyEdit> removed() {
    return ALL;
  }

  /** Takes out, for one of two workers, what {@code edits} leave alone, and makes these. */
  static List<BodyEdit> removedBefore(List<BodyEdit> edits) {
    List<BodyEdit> all = new ArrayList<>(OF_A_PART.size() + edits.size());
    for (BodyEdit removal : OF_A_PART) {
      if (edits.stream().noneMatch(edit -> within(edit.path(), removal.path()))) {
        all.add(removal);
      }
    }
    all.addAll(edits);
    return all;
  }

  private static boolean within(List<String> path, List<String> outer) {
    return path.size() >= outer.size() && path.subList(0, outer.size()).equals(outer);
  }

  /** Whether a request id tells engines where to look for blocks. */
  public static boolean names(String requestId) {
    return requestId.contains(PairId.PREFILL) || requestId.contains(PairId.DECODE);
  }
}

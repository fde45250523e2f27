package io.pointsman.pd.protocol;

import static io.pointsman.request.splice.BodyEdit.remove;

import io.pointsman.request.handover.HandoverFields;
import io.pointsman.request.splice.BodyEdit;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * A client's {@link HandoverFields}, which are removed, and fields that hold for one engine only.
 */
public final class ForeignFields {
  /** The request id in the body of {@code /v1/responses}, which may contain engine addresses. */
  static final String REQUEST_ID = "request_id";

  /**
   * SGLang's field for the rank that serves the request. {@link #PREFILL_RANK} is the rank of
   * prefill, for decode.
   */
  static final String RANK = "routed_dp_rank";

  static final String PREFILL_RANK = "disagg_prefill_dp_rank";

  private static final List<BodyEdit> ALL =
      HandoverFields.paths().stream().<BodyEdit>map(BodyEdit.Remove::new).toList();

  /** A client's rank applies to one engine, so it cannot hold for two. */
  private static final List<BodyEdit> OF_A_PART =
      Stream.concat(ALL.stream(), Stream.of(remove(RANK), remove("data_parallel_rank"))).toList();

  private ForeignFields() {}

  /** Returns the removals for a request that one worker serves. */
  public static List<BodyEdit> removed() {
    return ALL;
  }

  /**
   * Returns, for one of two workers, the removals of fields that {@code edits} do not set, followed
   * by {@code edits}.
   */
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

  /** Returns true if a request id contains the engine address of a handover. */
  public static boolean names(String requestId) {
    return HandoverFields.addresses(requestId);
  }
}

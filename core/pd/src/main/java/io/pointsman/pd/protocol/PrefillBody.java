package io.pointsman.pd.protocol;

import static io.pointsman.request.splice.BodyEdit.put;
import static io.pointsman.request.splice.BodyEdit.remove;
import static io.pointsman.request.splice.BodyEdit.replace;

import io.pointsman.pd.plan.PdEndpoint;
import io.pointsman.pd.protocol.ProtocolSettings.MinTokens;
import io.pointsman.request.splice.BodyEdit;
import io.pointsman.request.splice.RawJson;
import java.util.ArrayList;
import java.util.List;

/** The edits that turn a request into a prefill request: one token, not streamed. */
final class PrefillBody {
  static final String KV_TRANSFER_PARAMS = "kv_transfer_params";

  private static final RawJson ONE = RawJson.of(1);
  private static final String SAMPLING = "sampling_params";

  private PrefillBody() {}

  /** Returns these edits, followed by {@code more}. */
  static List<BodyEdit> edits(PdEndpoint endpoint, MinTokens minTokens, BodyEdit... more) {
    List<BodyEdit> edits = new ArrayList<>();
    switch (endpoint) {
      case CHAT, COMPLETIONS, MESSAGES -> {
        edits.add(put(ONE, "max_tokens"));
        edits.add(replace(ONE, "max_completion_tokens"));
      }
      case GENERATE -> {
        edits.add(put(ONE, "max_tokens"));
        edits.add(replace(ONE, SAMPLING, "max_tokens"));
        edits.add(replace(ONE, SAMPLING, "max_new_tokens"));
      }
      case RESPONSES -> edits.add(put(ONE, "max_output_tokens"));
      case TOKEN_GENERATE -> edits.add(put(ONE, SAMPLING, "max_tokens"));
    }
    edits.addAll(minimum(endpoint, minTokens));
    edits.add(put(RawJson.FALSE, "stream"));
    edits.add(remove("stream_options"));
    edits.addAll(notStored(endpoint));
    edits.addAll(List.of(more));
    return edits;
  }

  /**
   * Disables storage of the prefill response. Engines store responses by default, but no client
   * receives this one.
   */
  static List<BodyEdit> notStored(PdEndpoint endpoint) {
    return endpoint == PdEndpoint.RESPONSES ? List.of(put(RawJson.FALSE, "store")) : List.of();
  }

  private static List<BodyEdit> minimum(PdEndpoint endpoint, MinTokens minTokens) {
    return switch (minTokens) {
      case REMOVE ->
          List.of(
              remove("min_tokens"),
              remove("min_completion_tokens"),
              remove(SAMPLING, "min_tokens"),
              remove(SAMPLING, "min_new_tokens"));
      case ONE ->
          switch (endpoint) {
            case CHAT, COMPLETIONS, GENERATE ->
                List.of(
                    put(ONE, "min_tokens"),
                    replace(ONE, "min_completion_tokens"),
                    replace(ONE, SAMPLING, "min_tokens"),
                    replace(ONE, SAMPLING, "min_new_tokens"));
            case TOKEN_GENERATE -> List.of(put(ONE, SAMPLING, "min_tokens"));
            case RESPONSES, MESSAGES -> List.of(replace(ONE, "min_tokens"));
          };
    };
  }
}

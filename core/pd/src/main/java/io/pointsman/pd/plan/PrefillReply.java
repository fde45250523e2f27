package io.pointsman.pd.plan;

import static java.util.Objects.requireNonNull;

import io.pointsman.request.splice.RawJson;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The parts of a worker's response that a handover uses. Also read from a decode worker's response
 * if the protocol returns data in it.
 *
 * @param body the whole response
 * @param kvTransferParams the {@code kv_transfer_params} as received; null if absent, which means
 *     that there are no blocks to transfer
 * @param params the small members of these, by name
 * @param firstText {@code choices[0].text} as a JSON string; null if absent
 * @param finishReason {@code choices[0].finish_reason}; null if absent
 * @param cachedTokens prompt tokens found in the engine's cache; -1 if not reported
 */
public record PrefillReply(
    RawJson body,
    @Nullable RawJson kvTransferParams,
    Map<String, RawJson> params,
    @Nullable RawJson firstText,
    @Nullable String finishReason,
    long cachedTokens) {

  public PrefillReply {
    requireNonNull(body, "body");
    params = Map.copyOf(params);
  }

  /** Returns a member of the {@code kv_transfer_params}; null if it is missing, null or large. */
  public @Nullable RawJson param(String name) {
    RawJson value = params.get(name);
    return value == null || value.isNull() ? null : value;
  }

  /** Returns true if a member of the {@code kv_transfer_params} has this value. */
  public boolean says(String name, RawJson value) {
    RawJson found = params.get(name);
    return found != null && found.equals(value);
  }
}

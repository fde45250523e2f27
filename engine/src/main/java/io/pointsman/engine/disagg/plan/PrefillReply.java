package io.pointsman.engine.disagg.plan;

import static java.util.Objects.requireNonNull;

import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a worker answered, as far as a hand-over needs it. Also read from a decode worker's answer,
 * where a protocol hands something back.
 *
 * @param body the whole answer
 * @param kvTransferParams the answer's {@code kv_transfer_params} as they came; null if it has
 *     none, which means that the engine has nothing to hand over
 * @param params the members of these by name, as far as they are small
 * @param firstText {@code choices[0].text}, a JSON string; null if the answer has none
 * @param finishReason {@code choices[0].finish_reason}; null if the answer has none
 * @param cachedTokens prompt tokens that the engine found in its cache; -1 if it does not say
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

  /** A member of the {@code kv_transfer_params}; null if it is missing, null or large. */
  public @Nullable RawJson param(String name) {
    RawJson value = params.get(name);
    return value == null || value.isNull() ? null : value;
  }

  /** Whether a member of the {@code kv_transfer_params} has this value. */
  public boolean says(String name, RawJson value) {
    RawJson found = params.get(name);
    return found != null && found.equals(value);
  }
}

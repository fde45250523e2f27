package io.pointsman.engine.disagg.plan;

import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A client's request, as far as protocols care.
 *
 * @param path the request target as it came
 * @param id the client's request id, or the one made for it; names no engines
 * @param nonce 32 lower-case hex digits that no other hand-over has
 * @param conversation the conversation that it is a turn of; null if it is of none, or may not
 *     build on the last turn
 */
public record PdRequest(
    PdEndpoint endpoint,
    String path,
    String id,
    String nonce,
    @Nullable Conversation conversation,
    SplitFacts facts) {
  private static final Pattern NONCE = Pattern.compile("[0-9a-f]{32}");

  public PdRequest {
    if (!NONCE.matcher(nonce).matches()) {
      throw new IllegalArgumentException("nonce: " + nonce + " (expected: 32 hex digits)");
    }
  }
}

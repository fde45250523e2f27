package io.pointsman.pd.plan;

import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The parts of a client's request that protocols use.
 *
 * @param path the request target as received
 * @param id the client's request id, or a generated one; it contains no engine addresses
 * @param nonce 32 lower-case hex digits, unique for each handover
 * @param conversation the conversation of this turn; null if there is none, or if the last turn
 *     must not be used
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

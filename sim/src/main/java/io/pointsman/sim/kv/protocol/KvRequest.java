package io.pointsman.sim.kv.protocol;

import com.fasterxml.jackson.databind.JsonNode;
import io.pointsman.sim.cache.BlockHashes;
import io.pointsman.sim.kv.FieldError;
import io.pointsman.sim.kv.Fields;
import io.pointsman.sim.live.Generation;
import java.util.Arrays;
import java.util.HexFormat;

/**
 * What a protocol sees of a request.
 *
 * @param path its target
 * @param requestId the header {@code X-Request-Id}; empty without
 * @param rankHeader the header {@code X-data-parallel-rank}; empty without
 * @param body its JSON
 * @param generation what it asks of the engine
 * @param serial a number that no other request of this engine has
 */
public record KvRequest(
    String path,
    String requestId,
    String rankHeader,
    JsonNode body,
    Generation generation,
    long serial) {
  /** Fields of the body. */
  public Fields fields() {
    return new Fields(body, "");
  }

  /** Length of the prompt. */
  public int promptTokens() {
    return prompt().length;
  }

  /** Last token of the prompt. */
  public int lastToken() {
    return prompt()[prompt().length - 1];
  }

  /** A digest of the first tokens of the prompt, model and salt included. */
  public String hash(int tokens) {
    return hash(Arrays.copyOf(prompt(), tokens), generation.salt());
  }

  /** A digest of tokens. */
  public static String hash(int[] tokens, long salt) {
    return HexFormat.of().toHexDigits(BlockHashes.of(tokens, tokens.length, salt)[0]);
  }

  /** The engine's own id of the request, as vLLM makes it from the header. */
  public String internalId() {
    String prefix =
        switch (path) {
          case "/v1/chat/completions" -> "chatcmpl-";
          case "/v1/completions" -> "cmpl-";
          case "/v1/responses" -> "resp_";
          default -> "";
        };
    String suffix = HexFormat.of().toHexDigits((int) BlockHashes.mix(serial));
    return prefix + (requestId.isEmpty() ? "sim" : requestId) + "-" + suffix;
  }

  /** The data-parallel rank asked for; 0 without. */
  public int rank(int dpSize) {
    if (rankHeader.isEmpty()) {
      return 0;
    }
    if (!rankHeader.matches("[0-9]{1,4}") || Integer.parseInt(rankHeader) >= dpSize) {
      throw FieldError.wrong("X-data-parallel-rank", rankHeader, "below " + dpSize);
    }
    return Integer.parseInt(rankHeader);
  }

  /** Whether it is for more than one prompt or choice, so that it is no part of a hand-over. */
  boolean several() {
    return generation.choices() != 1 || generation.prompts().size() != 1;
  }

  /** A hand-over describes one sequence: 400 for more prompts or choices. */
  public void single() {
    if (generation.choices() != 1) {
      throw FieldError.wrong("n", Integer.toString(generation.choices()), "1");
    }
    if (generation.prompts().size() != 1) {
      throw FieldError.wrong("prompt", generation.prompts().size() + " prompts", "one");
    }
  }

  private int[] prompt() {
    return generation.prompts().getFirst();
  }
}

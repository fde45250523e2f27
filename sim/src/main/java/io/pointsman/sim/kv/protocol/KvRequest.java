package io.pointsman.sim.kv.protocol;

import com.fasterxml.jackson.databind.JsonNode;
import io.pointsman.sim.cache.BlockHashes;
import io.pointsman.sim.kv.FieldError;
import io.pointsman.sim.kv.Fields;
import io.pointsman.sim.live.Generation;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.regex.Pattern;

/**
 * What a protocol sees of a request.
 *
 * @param path its target
 * @param requestId the header {@code X-Request-Id}, empty without; in {@code /v1/responses} the
 *     body's {@code request_id}, or one that the engine has made up
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
  /** The route that knows no {@code X-Request-Id}. */
  public static final String RESPONSES = "/v1/responses";

  private static final Pattern DIGITS = Pattern.compile("-[0-9a-f]{8}$");

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

  /** What {@link #requestId} is read from. */
  public String idField() {
    return path.equals(RESPONSES) ? "request_id" : "X-Request-Id";
  }

  /** The engine's own id of the request, as vLLM makes it. */
  public String internalId() {
    return baseId() + "-" + HexFormat.of().toHexDigits((int) BlockHashes.mix(serial));
  }

  /** The same without the digits at its end that no other request of any engine has. */
  String baseId() {
    String id = requestId.isEmpty() ? "sim" : requestId;
    return switch (path) {
      case "/v1/chat/completions" -> "chatcmpl-" + id;
      case "/v1/completions" -> "cmpl-" + id;
      case RESPONSES -> id + "_0";
      default -> id;
    };
  }

  /** {@link #baseId} of a request that an engine calls {@code internalId}. */
  static String baseId(String internalId) {
    return DIGITS.matcher(internalId).replaceFirst("");
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

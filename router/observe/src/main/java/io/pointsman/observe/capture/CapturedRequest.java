package io.pointsman.observe.capture;

import io.pointsman.engine.fleet.LeaseView;
import io.pointsman.engine.fleet.Usage;
import io.pointsman.engine.policy.PickReason;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.prefix.PrefixBlocks;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * One line of the capture: the fields of Mooncake's traces, and some more.
 *
 * @param at milliseconds from the start of the capture until the router had to choose a worker
 * @param deferred milliseconds from then until the first placement
 * @param promptTokens estimated prompt length
 * @param usage token counts reported by the engine
 * @param predicted predicted time to first token in milliseconds; NaN without a prediction
 * @param ttft milliseconds from the last decision to the first token; NaN if no first token was
 *     reported
 * @param took milliseconds from the last decision to the end of the response
 */
record CapturedRequest(
    ResponseEnd end,
    double at,
    double deferred,
    PrefixBlocks prefix,
    int promptTokens,
    Usage usage,
    @Nullable String model,
    String worker,
    PickReason reason,
    int matchedBlocks,
    double predicted,
    double ttft,
    double took) {

  /** Number of routing-key blocks per hash: about 64 tokens. */
  static final int STRIDE = 4;

  /** Output length in tokens of a response that reports no length. */
  private static final int ANSWER = 256;

  /** Maximum length of a name in characters; clients choose the names. */
  private static final int LONGEST_NAME = 200;

  enum ResponseEnd {
    /** The response was sent completely. */
    OK,
    /** The worker answered with a client error. */
    REFUSED,
    /** The client left, or the engine failed, after the response had begun. */
    CUT
  }

  /**
   * @param begun start of the capture, on the ticker's scale
   * @param firstToken time of the first token; null if none was reported
   */
  static CapturedRequest of(
      RoutingRequest request,
      LeaseView lease,
      ResponseEnd end,
      long begun,
      @Nullable Long firstToken,
      long now) {
    long asked = request.waits().askedAt();
    return new CapturedRequest(
        end,
        (asked - begun) / 1e6,
        (request.waits().firstPlacedAt() - asked) / 1e6,
        request.prefix(),
        lease.promptTokens(),
        lease.usage(),
        cut(request.model()),
        lease.worker().id(),
        request.result().reason(),
        request.result().matchedBlocks(),
        request.result().predictedMillis(),
        firstToken == null ? Double.NaN : (firstToken - lease.placedAt()) / 1e6,
        (now - lease.placedAt()) / 1e6);
  }

  /**
   * Truncates a name. The queue estimates the memory of a request by its hashes, so names must be
   * small.
   */
  private static @Nullable String cut(@Nullable String name) {
    return name == null || name.length() <= LONGEST_NAME ? name : name.substring(0, LONGEST_NAME);
  }

  /** The JSON line, including the line end. */
  String json() {
    int input = Math.max(1, usage.promptTokens() > 0 ? usage.promptTokens() : promptTokens);
    // At least one token: the replay has no shorter response, for example for embeddings.
    int output = usage.completionTokens() >= 0 ? Math.max(1, usage.completionTokens()) : ANSWER;
    boolean estimated = usage.promptTokens() <= 0 || usage.completionTokens() < 0;
    StringBuilder line = new StringBuilder(300 + prefix.count() / STRIDE * 21);
    number(line.append("{\"timestamp\":"), at);
    line.append(",\"input_length\":").append(input).append(",\"output_length\":").append(output);
    number(line.append(",\"block_tokens\":"), hashTokens(input));
    hashes(line.append(",\"hash_ids\":["));
    line.append("],\"estimated\":").append(estimated);
    line.append(",\"cached_tokens\":");
    if (usage.cachedTokens() < 0) {
      line.append("null");
    } else {
      line.append(usage.cachedTokens());
    }
    name(line.append(",\"model\":"), model);
    name(line.append(",\"worker\":"), cut(worker));
    line.append(",\"reason\":\"").append(reason.name().toLowerCase(Locale.ROOT));
    line.append("\",\"matched_blocks\":").append(matchedBlocks);
    number(line.append(",\"deferred_ms\":"), deferred);
    number(line.append(",\"predicted_ttft_ms\":"), predicted);
    number(line.append(",\"ttft_ms\":"), ttft);
    number(line.append(",\"e2e_ms\":"), took);
    line.append(",\"end\":\"").append(end.name().toLowerCase(Locale.ROOT));
    return line.append("\"}\n").toString();
  }

  /** Tokens per hash: prompt tokens, distributed by length. */
  private double hashTokens(int input) {
    return (double) input * STRIDE * prefix.blockLength() / Math.max(1, prefix.length());
  }

  /** Appends the hash of every {@link #STRIDE}th block, and of the last block. */
  private void hashes(StringBuilder line) {
    for (int end = Math.min(STRIDE, prefix.count());
        end > 0;
        end = end == prefix.count() ? 0 : Math.min(end + STRIDE, prefix.count())) {
      line.append(prefix.hashes()[end - 1]).append(',');
    }
    line.setLength(prefix.count() > 0 ? line.length() - 1 : line.length());
  }

  /** Appends a number with three decimals, without the cost of a formatter. */
  private static void number(StringBuilder line, double value) {
    if (Double.isNaN(value)) {
      line.append("null");
      return;
    }
    long thousandths = Math.round(Math.abs(value) * 1000);
    line.append(value < 0 ? "-" : "").append(thousandths / 1000).append('.');
    line.append((char) ('0' + thousandths / 100 % 10));
    line.append((char) ('0' + thousandths / 10 % 10)).append((char) ('0' + thousandths % 10));
  }

  private static void name(StringBuilder line, @Nullable String name) {
    if (name == null) {
      line.append("null");
      return;
    }
    line.append('"');
    for (int i = 0; i < name.length(); i++) {
      char c = name.charAt(i);
      if (c == '"' || c == '\\') {
        line.append('\\').append(c);
      } else if (c < ' ' || c > '~') {
        line.append(String.format("\\u%04x", (int) c));
      } else {
        line.append(c);
      }
    }
    line.append('"');
  }
}

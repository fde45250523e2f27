package io.pointsman.app.capture;

import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Usage;
import io.pointsman.engine.policy.PickReason;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.prefix.PrefixBlocks;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * One request as it is written down, in the words of Mooncake's traces and a few more.
 *
 * @param end how it ended
 * @param at milliseconds from the beginning of the capture until the request was to be placed
 * @param held milliseconds that it was held back from then on
 * @param promptTokens as estimated
 * @param usage as the engine counted
 * @param predicted time to first token in milliseconds; NaN if it was not predicted
 * @param ttft milliseconds from the last decision to the first token; NaN if that was not heard of
 * @param took milliseconds from the last decision to the end of the answer
 */
record CapturedRequest(
    End end,
    double at,
    double held,
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

  /** Blocks of the routing key that one hash stands for: 64 tokens, more or less. */
  static final int STRIDE = 4;

  /** An answer whose length nobody told is written down as this long. */
  private static final int ANSWER = 256;

  /** Names come from clients; longer ones are cut. */
  private static final int LONGEST_NAME = 200;

  /** How it ended. */
  enum End {
    /** Answered to its end. */
    OK,
    /** Answered with an error of the client's. */
    REFUSED,
    /** The client has left, or the engine has failed, when the answer had begun. */
    CUT
  }

  /**
   * @param begun when the capture began
   * @param firstToken when the first token came; null if that was not heard of
   */
  static CapturedRequest of(
      RoutingRequest request,
      Lease lease,
      End end,
      long begun,
      @Nullable Long firstToken,
      long now) {
    long asked = request.notes().askedAt();
    return new CapturedRequest(
        end,
        (asked - begun) / 1e6,
        (request.notes().firstPlacedAt() - asked) / 1e6,
        request.prefix(),
        lease.promptTokens(),
        lease.usage(),
        cut(request.model()),
        lease.worker().id(),
        request.notes().reason(),
        request.notes().matchedBlocks(),
        request.notes().predictedMillis(),
        firstToken == null ? Double.NaN : (firstToken - lease.placedAt()) / 1e6,
        (now - lease.placedAt()) / 1e6);
  }

  /** What waits to be written is weighed by its hashes: a name must not be what is heavy. */
  private static @Nullable String cut(@Nullable String name) {
    return name == null || name.length() <= LONGEST_NAME ? name : name.substring(0, LONGEST_NAME);
  }

  /** The line, with its end. */
  String json() {
    int input = Math.max(1, usage.promptTokens() > 0 ? usage.promptTokens() : promptTokens);
    // One that generates nothing, as an embedding: no shorter answer can be replayed.
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
    number(line.append(",\"held_ms\":"), held);
    number(line.append(",\"predicted_ttft_ms\":"), predicted);
    number(line.append(",\"ttft_ms\":"), ttft);
    number(line.append(",\"e2e_ms\":"), took);
    line.append(",\"end\":\"").append(end.name().toLowerCase(Locale.ROOT));
    return line.append("\"}\n").toString();
  }

  /** Tokens that one hash stands for: those of the prompt, shared out by length. */
  private double hashTokens(int input) {
    return (double) input * STRIDE * prefix.blockLength() / Math.max(1, prefix.length());
  }

  /** Of every {@link #STRIDE} blocks the last, and the last of all. */
  private void hashes(StringBuilder line) {
    for (int end = Math.min(STRIDE, prefix.count());
        end > 0;
        end = end == prefix.count() ? 0 : Math.min(end + STRIDE, prefix.count())) {
      line.append(prefix.hashes()[end - 1]).append(',');
    }
    line.setLength(prefix.count() > 0 ? line.length() - 1 : line.length());
  }

  /** With three digits behind the point, without the cost of a formatter. */
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

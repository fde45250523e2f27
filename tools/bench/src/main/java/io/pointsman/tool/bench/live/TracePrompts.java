package io.pointsman.tool.bench.live;

import static java.nio.charset.StandardCharsets.US_ASCII;

import io.pointsman.tool.replay.trace.Trace;
import io.pointsman.tool.replay.trace.TraceRequest;
import io.pointsman.tool.sim.cache.BlockHashes;
import java.util.List;

/**
 * Requests of a trace as chats. Equal hashes in the trace give equal texts. Each word, a space and
 * three letters, is one token for the simulated engines.
 */
final class TracePrompts {
  static final String MODEL = "sim-model";

  /** Number of tokens that the chat template adds to one user message. */
  private static final int TEMPLATE_TOKENS = 3;

  private static final int WORD_BYTES = 4;
  private static final int LETTERS = 26;

  /** Length in tokens; shorter than a block of any engine. */
  private static final int GREETING_TOKENS = 50;

  private TracePrompts() {}

  /** Body of a streamed chat with the trace's numbers of prompt and output tokens. */
  static byte[] chat(Trace trace, TraceRequest request) {
    byte[] head =
        ascii(
            "{\"model\":\"%s\",\"stream\":true,\"stream_options\":{\"include_usage\":true},\"max_tokens\":%d,\"messages\":[{\"role\":\"user\",\"content\":\""
                .formatted(MODEL, request.outputTokens()));
    byte[] tail = ascii("\"}]}");
    int words = Math.max(1, request.inputTokens() - TEMPLATE_TOKENS);
    byte[] body = new byte[head.length + words * WORD_BYTES + tail.length];
    System.arraycopy(head, 0, body, 0, head.length);
    for (int i = 0; i < words; i++) {
      write(word(trace, request, i), body, head.length + i * WORD_BYTES);
    }
    System.arraycopy(tail, 0, body, body.length - tail.length, tail.length);
    return body;
  }

  /** Body of a chat that shares no prefix with others and fills no cache block. */
  static byte[] greeting(long number) {
    TraceRequest request =
        new TraceRequest(0, -1, GREETING_TOKENS, 1, new long[] {BlockHashes.mix(number)});
    return chat(new Trace("greeting", GREETING_TOKENS, List.of(request)), request);
  }

  /** Pseudo-random bits from the block's hash and the position within the block. */
  private static long word(Trace trace, TraceRequest request, int token) {
    long[] blocks = request.blocks();
    int block = Math.min(token / trace.blockTokens(), blocks.length - 1);
    long hash = block < 0 ? 0 : blocks[block];
    int within = token - Math.max(0, block) * trace.blockTokens();
    return BlockHashes.mix(hash + within) >>> 16;
  }

  private static void write(long bits, byte[] body, int at) {
    long rest = bits;
    body[at] = ' ';
    for (int i = 1; i < WORD_BYTES; i++) {
      body[at + i] = (byte) ('a' + rest % LETTERS);
      rest /= LETTERS;
    }
  }

  private static byte[] ascii(String text) {
    return text.getBytes(US_ASCII);
  }
}

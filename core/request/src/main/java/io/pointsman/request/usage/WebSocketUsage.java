package io.pointsman.request.usage;

import io.pointsman.engine.fleet.Usage;
import io.pointsman.request.usage.AnswerScanner.Form;
import org.jspecify.annotations.Nullable;

/**
 * Sum of the token counts in the text messages that the server of a WebSocket sends (RFC 6455), for
 * example in {@code response.done} of the Realtime API. It reads the bytes as they pass. Binary and
 * compressed messages have no counts. Memory is bounded.
 */
public final class WebSocketUsage {
  private static final int END = 0x80;
  private static final int EXTENSIONS = 0x70;
  private static final int OPCODE = 0x0F;
  private static final int MASK = 0x80;
  private static final int LENGTH = 0x7F;
  private static final int TWO_BYTES = 126;
  private static final int EIGHT_BYTES = 127;
  private static final int MASK_BYTES = 4;

  private static final int CONTINUATION = 0;
  private static final int TEXT = 1;
  private static final int FIRST_CONTROL = 8;

  /** The first bytes of the current frame, up to its contents. */
  private final byte[] head = new byte[14];

  private int headLength;

  /** Bytes of the current frame that have not arrived; -1 while its head is not complete. */
  private long left = -1;

  /** The current message; null if it has no counts. */
  private @Nullable AnswerScanner message;

  private Usage sum = Usage.UNKNOWN;

  /**
   * Reads the next bytes of the server.
   *
   * @param to index after the last byte
   */
  public void read(byte[] bytes, int from, int to) {
    int at = from;
    while (at < to) {
      if (left < 0) {
        head[headLength++] = bytes[at++];
        if (headLength >= 2 && headLength == headSize()) {
          begin();
        }
      } else {
        int part = (int) Math.min(left, to - at);
        AnswerScanner reading = message;
        if (reading != null && !control()) {
          reading.read(bytes, at, at + part);
        }
        left -= part;
        at += part;
      }
      if (left == 0) {
        end();
      }
    }
  }

  private int headSize() {
    int mask = (head[1] & MASK) == 0 ? 0 : MASK_BYTES;
    return 2 + lengthBytes() + mask;
  }

  private int lengthBytes() {
    return switch (head[1] & LENGTH) {
      case TWO_BYTES -> 2;
      case EIGHT_BYTES -> 8;
      default -> 0;
    };
  }

  private int opcode() {
    return head[0] & OPCODE;
  }

  /** True for a frame between the parts of a message. */
  private boolean control() {
    return opcode() >= FIRST_CONTROL;
  }

  private void begin() {
    int more = lengthBytes();
    long length = more == 0 ? head[1] & LENGTH : 0;
    for (int i = 0; i < more; i++) {
      length = (length << 8) | (head[2 + i] & 0xFF);
    }
    // A length of 2^63 and more is an error that the client notices.
    left = length < 0 ? Long.MAX_VALUE : length;
    if (!control() && opcode() != CONTINUATION) {
      boolean readable = opcode() == TEXT && (head[0] & EXTENSIONS) == 0 && (head[1] & MASK) == 0;
      message = readable ? new AnswerScanner(Form.COUNTS) : null;
    }
  }

  private void end() {
    AnswerScanner ending = message;
    if (ending != null && !control() && (head[0] & END) != 0) {
      Usage more = ending.usage();
      sum =
          new Usage(
              sum(sum.promptTokens(), more.promptTokens()),
              sum(sum.cachedTokens(), more.cachedTokens()),
              sum(sum.completionTokens(), more.completionTokens()));
      message = null;
    }
    headLength = 0;
    left = -1;
  }

  /** Sum of two counts, each -1 if there is none. */
  private static int sum(int count, int more) {
    return more < 0 ? count : (int) Math.min(Integer.MAX_VALUE, Math.max(0L, count) + more);
  }

  /** The counts so far; -1 for a count that no message has. */
  public Usage usage() {
    return sum;
  }
}

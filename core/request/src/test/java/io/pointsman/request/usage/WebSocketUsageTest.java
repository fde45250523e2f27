package io.pointsman.request.usage;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Usage;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import org.junit.jupiter.api.Test;

class WebSocketUsageTest {
  private static final int CONTINUATION = 0;
  private static final int TEXT = 1;
  private static final int BINARY = 2;
  private static final int PING = 9;
  private static final int END = 0x80;
  private static final int COMPRESSED = 0x40;

  /** As in the Realtime API. */
  private static final String DONE =
      """
      {"type":"response.done","response":{"output":[{"content":"hi"}],"usage":{"total_tokens":50,
      "input_tokens":30,"output_tokens":20,"input_token_details":{"cached_tokens":10}}}}\
      """;

  /** As in vLLM's transcriptions. */
  private static final String TRANSCRIBED =
      "{\"type\":\"transcription.done\",\"text\":\"hi\","
          + "\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":2,\"total_tokens\":7}}";

  private static final String TALK =
      "{\"type\":\"response.text.delta\",\"delta\":\"\\\"usage\\\":{\\\"output_tokens\\\":99}\"}";

  private final ByteArrayOutputStream sent = new ByteArrayOutputStream();

  private void frame(int first, String contents) {
    frame(first, contents.getBytes(UTF_8));
  }

  private void frame(int first, byte[] contents) {
    sent.write(first);
    if (contents.length < 126) {
      sent.write(contents.length);
    } else if (contents.length < 65_536) {
      sent.write(126);
      sent.writeBytes(ByteBuffer.allocate(2).putShort((short) contents.length).array());
    } else {
      sent.write(127);
      sent.writeBytes(ByteBuffer.allocate(8).putLong(contents.length).array());
    }
    sent.writeBytes(contents);
  }

  /** Reads the frames as a whole, and in parts of each small size. */
  private Usage read() {
    byte[] bytes = sent.toByteArray();
    Usage whole = read(bytes, bytes.length);
    for (int size : new int[] {1, 2, 3, 7, 50}) {
      assertThat(read(bytes, size)).as("in parts of " + size).isEqualTo(whole);
    }
    return whole;
  }

  private static Usage read(byte[] bytes, int size) {
    WebSocketUsage usage = new WebSocketUsage();
    for (int at = 0; at < bytes.length; at += size) {
      usage.read(bytes, at, Math.min(bytes.length, at + size));
    }
    return usage.usage();
  }

  @Test
  void theCountsOfAllMessagesAreAdded() {
    assertThat(read()).isEqualTo(Usage.UNKNOWN);
    frame(END | TEXT, "{\"type\":\"session.created\"}");
    frame(END | TEXT, "");
    assertThat(read()).isEqualTo(Usage.UNKNOWN);
    frame(END | TEXT, DONE);
    frame(END | TEXT, TALK);
    frame(END | TEXT, DONE);
    frame(END | TEXT, TRANSCRIBED);
    assertThat(read()).isEqualTo(new Usage(65, 20, 42));
  }

  @Test
  void aMessageMayHaveSeveralFramesWithOthersBetween() {
    frame(TEXT, DONE.substring(0, 60));
    frame(END | PING, DONE.substring(0, 20));
    frame(CONTINUATION, DONE.substring(60, 100));
    frame(CONTINUATION, "");
    frame(END | CONTINUATION, DONE.substring(100));
    frame(END | TEXT, TRANSCRIBED);
    assertThat(read()).isEqualTo(new Usage(35, 10, 22));
  }

  @Test
  void longMessagesAreRead() {
    frame(END | TEXT, "{\"audio\":\"" + "a".repeat(70_000) + "\"," + TRANSCRIBED.substring(1));
    frame(END | BINARY, new byte[70_000]);
    frame(END | TEXT, TRANSCRIBED);
    assertThat(read()).isEqualTo(new Usage(10, -1, 4));
  }

  @Test
  void binaryAndCompressedMessagesHaveNoCounts() {
    frame(END | BINARY, DONE);
    frame(END | COMPRESSED | TEXT, DONE);
    frame(COMPRESSED | TEXT, DONE.substring(0, 60));
    frame(END | CONTINUATION, DONE.substring(60));
    frame(END | PING, TRANSCRIBED);
    assertThat(read()).isEqualTo(Usage.UNKNOWN);
    frame(END | TEXT, TRANSCRIBED);
    assertThat(read()).isEqualTo(new Usage(5, -1, 2));
  }

  @Test
  void aLengthBeyondAllLimitsEndsTheCounts() {
    frame(END | TEXT, TRANSCRIBED);
    sent.write(END | TEXT);
    sent.write(127);
    sent.writeBytes(ByteBuffer.allocate(8).putLong(-1).array());
    sent.writeBytes(DONE.getBytes(UTF_8));
    assertThat(read()).isEqualTo(new Usage(5, -1, 2));
  }
}

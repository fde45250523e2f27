package io.pointsman.proxy.wire;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.pointsman.request.event.EventKind;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class StreamOpeningTest {
  private static final String CREATED = "event: response.created\ndata: {\"response\":{}}\n\n";
  private static final String ROLE =
      "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n";
  private static final String TEXT = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";

  private static StreamOpening opening(String line) {
    ResponseHead head = new ResponseHead();
    byte[] bytes = ("HTTP/1.1 200 OK\r\n" + line + "\r\n").getBytes(US_ASCII);
    head.parse(bytes, bytes.length);
    return new StreamOpening(head, "POST");
  }

  private static StreamOpening chunked() {
    return opening("transfer-encoding: chunked\r\n");
  }

  private static ByteBuf bytes(String text) {
    return Unpooled.copiedBuffer(text, US_ASCII);
  }

  private static String chunk(String data) {
    return Integer.toHexString(data.length()) + "\r\n" + data + "\r\n";
  }

  /** The result at each change, with the bytes read one by one. */
  private static List<String> reported(StreamOpening opening, String stream) {
    List<String> reported = new ArrayList<>();
    EventKind last = EventKind.TAKEN;
    for (int i = 0; i < stream.length() && !last.decides(); i++) {
      EventKind next = opening.take(bytes(stream.substring(i, i + 1)));
      if (next != last) {
        reported.add(next + " at " + i);
        last = next;
      }
    }
    return reported;
  }

  @Test
  void eventsAreClassifiedAtTheirEndAtEverySplit() {
    String whole = CREATED + ": c\r\n\r\n" + ROLE + TEXT;
    int text = whole.length() - 1;
    int role = text - TEXT.length();
    assertThat(reported(opening(""), whole))
        .containsExactly("COMPUTED at " + role, "OUTPUT at " + text);

    String parts = chunk(whole.substring(0, 20)) + chunk(whole.substring(20));
    assertThat(reported(chunked(), parts)).hasSize(2);
    assertThat(chunked().take(bytes(parts))).isEqualTo(EventKind.OUTPUT);
    assertThat(chunked().take(bytes(chunk(CREATED)))).isEqualTo(EventKind.TAKEN);
    assertThat(chunked().take(bytes(chunk(CREATED) + chunk(ROLE)))).isEqualTo(EventKind.COMPUTED);
  }

  @Test
  void largeEventsThatRepeatTheRequestAreSkipped() {
    String created = "event: response.created\ndata: {\"x\":\"" + "y".repeat(100_000) + "\"}\n\n";
    StreamOpening opening = chunked();
    assertThat(opening.take(bytes(chunk(created)))).isEqualTo(EventKind.TAKEN);
    assertThat(opening.take(bytes(chunk(TEXT)))).isEqualTo(EventKind.OUTPUT);
  }

  @Test
  void largeOutputIsClassifiedBeforeItsEnd() {
    assertThat(opening("").take(bytes("data: {\"text\":\"" + "y".repeat(10_000))))
        .isEqualTo(EventKind.OUTPUT);
  }

  @Test
  void endOfAStreamCountsAsOutput() {
    assertThat(chunked().take(bytes(chunk(CREATED) + "0\r\n\r\n"))).isEqualTo(EventKind.OUTPUT);
    assertThat(opening("content-length: " + CREATED.length() + "\r\n").take(bytes(CREATED)))
        .isEqualTo(EventKind.OUTPUT);
    assertThat(chunked().take(bytes("no chunk"))).isEqualTo(EventKind.OUTPUT);
  }

  @Test
  void bufferStaysUnchanged() {
    ByteBuf in = bytes(chunk(CREATED) + chunk(TEXT));
    int readable = in.readableBytes();
    chunked().take(in);
    assertThat(in.readableBytes()).isEqualTo(readable);
    assertThat(in.refCnt()).isOne();
  }
}

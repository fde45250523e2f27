package io.pointsman.proxy.wire;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Heads of answers: parsed values, forwarded lines, refused heads. */
@SuppressWarnings("StringConcatToTextBlock") // line ends matter
class ResponseHeadTest {
  private final ResponseHead head = new ResponseHead();

  private int parse(String text) {
    byte[] bytes = text.getBytes(StandardCharsets.ISO_8859_1);
    return head.parse(bytes, bytes.length);
  }

  private String written() {
    ByteBuf out = Unpooled.buffer();
    head.writeTo(out);
    return out.toString(StandardCharsets.ISO_8859_1);
  }

  @Test
  void headersOfThisHopAreParsed() {
    String text =
        "HTTP/1.1 503 Busy\r\nContent-Type: Text/Event-Stream;charset=utf-8\r\n"
            + "Retry-After: 7\r\nTRANSFER-ENCODING:  Chunked \r\nConnection: close\r\n\r\n";

    assertThat(parse(text + "body")).isEqualTo(text.length());
    assertThat(head.status()).isEqualTo(503);
    assertThat(head.eventStream()).isTrue();
    assertThat(head.retryAfterSeconds()).isEqualTo(7);
    assertThat(head.chunked()).isTrue();
    assertThat(head.reusable()).isFalse();
  }

  @Test
  void everyShorterHeadIsIncomplete() {
    String text = "HTTP/1.1 200 OK\r\na: b\r\ncontent-length: 3\r\n\r\n";
    for (int length = 0; length < text.length(); length++) {
      assertThat(parse(text.substring(0, length)))
          .as(length + "")
          .isEqualTo(ResponseHead.INCOMPLETE);
    }
    assertThat(parse(text)).isEqualTo(text.length());
    assertThat(head.contentLength()).isEqualTo(3);
    assertThat(head.reusable()).isTrue();
  }

  @Test
  void onlyLinesOfThisHopAreDropped() {
    parse(
        "HTTP/1.0 200\r\nA: 1\r\nKeep-Alive: x\r\nB: 2\r\nC: 3\r\nConnection: keep-alive, b\r\n"
            + "X-Request-ID: y\r\nUpgrade: z\r\nProxy-Connection: q\r\nTe: r\r\nD: 4\r\n"
            + "Content-Length: 5\r\nContent-Length: 5\r\n\r\n");

    assertThat(written())
        .isEqualTo("HTTP/1.1 200 \r\nA: 1\r\nC: 3\r\nD: 4\r\nContent-Length: 5\r\n");
    assertThat(head.reusable()).isTrue();
  }

  @Test
  void headersThatOnlyThisRouterGivesAreDropped() {
    parse("HTTP/1.1 200 OK\r\nX-Pointsman-Shed-Reason: a\r\nx-pointsman-new: b\r\nA: 1\r\n\r\n");

    assertThat(written()).isEqualTo("HTTP/1.1 200 OK\r\nA: 1\r\n");
  }

  @Test
  void aHeadNamesAtMost32HeadersOfThisHop() {
    String names = "a,".repeat(31) + "a";

    assertThat(parse("HTTP/1.1 200 OK\r\nConnection: " + names + "\r\n\r\n")).isPositive();
    assertThat(parse("HTTP/1.1 200 OK\r\nConnection: " + names + ",a\r\n\r\n"))
        .isEqualTo(ResponseHead.MALFORMED);
    String twice = "Connection: " + "a,".repeat(16) + "a\r\n";
    assertThat(parse("HTTP/1.1 200 OK\r\n" + twice + twice + "\r\n"))
        .isEqualTo(ResponseHead.MALFORMED);
  }

  @Test
  void chunksMakeTheLengthMeaningless() {
    parse("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\nA: 1\r\n\r\n");

    assertThat(written()).isEqualTo("HTTP/1.1 200 OK\r\nA: 1\r\n");
    assertThat(head.reusable()).isFalse();
  }

  @Test
  void connectionHeaderCannotRemoveTheLength() {
    parse(
        "HTTP/1.1 200 OK\r\n"
            + "Connection: content-length, x-a\r\n"
            + "Content-Length: 5\r\n"
            + "X-A: 1\r\n\r\n");

    assertThat(written()).isEqualTo("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "SSH-2.0-x\r\n\r\n",
        "HTTP/2.0 200 OK\r\n\r\n",
        "HTTP/1.2 200 OK\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1 099 OK\r\n\r\n",
        "HTTP/1.1 600 OK\r\n\r\n",
        "HTTP/1.1 200 OK\n\n       ",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        "HTTP/1.1 200 OK\r\n: nameless\r\n\r\n",
        "HTTP/1.1 200 OK\r\nblank : x\r\n\r\n",
        "HTTP/1.1 200 OK\r\na: b\r\n folded\r\n\r\n",
        "HTTP/1.1 200 OK\r\na: b\nc: d\r\n\r\n",
        "HTTP/1.1 200 OK\r\na: b\rc\r\n\r\n",
        "HTTP/1.1 200 OK\r\na: \u0000\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 9999999999999999999\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n"
      })
  void malformedIsRefused(String text) {
    assertThat(parse(text)).isEqualTo(ResponseHead.MALFORMED);
  }
}

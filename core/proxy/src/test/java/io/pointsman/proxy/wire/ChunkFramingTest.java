package io.pointsman.proxy.wire;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Malformed chunks, and the position between events. */
class ChunkFramingTest {
  private static int scan(ChunkFraming framing, String text) {
    ByteBuf in = Unpooled.copiedBuffer(text, StandardCharsets.ISO_8859_1);
    return framing.scan(in, 0, in.writerIndex(), null);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "\r\n",
        "g\r\n",
        "-1\r\n",
        "0x1\r\n",
        " 1\r\n",
        "1\n",
        "1\rx",
        "1\r\nab",
        "1\r\na\n",
        "1;\u0000\r\n",
        "1000000000000000\r\n",
        "0\r\nx\n",
        "0\r\nx\r\n",
        "0\r\n: x\r\n",
        "0\r\na b: x\r\n",
        "0\r\n\rx"
      })
  void malformedIsRefused(String text) {
    assertThat(scan(new ChunkFraming(), text)).isEqualTo(ChunkFraming.MALFORMED);
  }

  @Test
  void endlessExtensionsAndTrailersAreRefused() {
    assertThat(scan(new ChunkFraming(), "1;" + "a".repeat(5000))).isEqualTo(ChunkFraming.MALFORMED);
    assertThat(scan(new ChunkFraming(), "0\r\n" + "a: b\r\n".repeat(20_000)))
        .isEqualTo(ChunkFraming.MALFORMED);
  }

  @Test
  void errorKeepsTheLastBorderBeforeIt() {
    ChunkFraming framing = new ChunkFraming();
    assertThat(scan(framing, "2\r\nab\r\n1\r\nc\r\nzz")).isEqualTo(ChunkFraming.MALFORMED);
    assertThat(framing.border()).isEqualTo(13);
  }

  @Test
  void eventsEndWithAnEmptyLine() {
    for (String end : new String[] {"\n\n", "\r\n\r\n"}) {
      ChunkFraming framing = new ChunkFraming();
      assertThat(framing.tail().betweenEvents()).isTrue();
      scan(framing, "7\r\ndata: a\r\n");
      assertThat(framing.tail().betweenEvents()).isFalse();
      scan(framing, Integer.toHexString(end.length()) + "\r\n" + end + "\r\n");
      assertThat(framing.tail().betweenEvents()).isTrue();
    }
  }
}

package io.pointsman.proxy.wire;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import org.junit.jupiter.api.Test;

class AnswerTailTest {
  @Test
  void keepsTheLastBytesAtEverySplit() {
    String answer = "abcdefghijklmnopqrstuvwxyz";
    for (int piece = 1; piece <= answer.length(); piece++) {
      AnswerTail tail = new AnswerTail(7);
      for (int at = 0; at < answer.length(); at += piece) {
        ByteBuf in =
            Unpooled.copiedBuffer(
                answer.substring(at, Math.min(answer.length(), at + piece)), US_ASCII);
        int readable = in.readableBytes();
        tail.append(in);
        assertThat(in.readableBytes()).isEqualTo(readable);
      }

      assertThat(new String(tail.bytes(), 0, tail.length(), US_ASCII)).isEqualTo("tuvwxyz");
    }
  }

  @Test
  void shortAnswerIsKeptCompletely() {
    AnswerTail tail = new AnswerTail(7);
    tail.append(Unpooled.copiedBuffer("ab", US_ASCII));
    tail.append(Unpooled.EMPTY_BUFFER);
    tail.append(Unpooled.copiedBuffer("cd", US_ASCII));

    assertThat(new String(tail.bytes(), 0, tail.length(), US_ASCII)).isEqualTo("abcd");
  }

  @Test
  void memoryIsBoundedByTheAnswerAndTheMaximum() {
    AnswerTail tail = new AnswerTail(1024);
    tail.append(Unpooled.copiedBuffer("abc", US_ASCII));
    assertThat(tail.bytes()).hasSize(3);

    tail.append(Unpooled.copiedBuffer("x".repeat(2000), US_ASCII));
    assertThat(tail.bytes()).hasSize(1024);
    assertThat(tail.length()).isEqualTo(1024);
  }
}

package io.pointsman.proxy.wire;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The ends of events with both kinds of line ends. */
class EventTailTest {
  private static EventTail tail(String text, int step) {
    ByteBuf in = Unpooled.copiedBuffer(text, US_ASCII);
    EventTail tail = new EventTail();
    for (int from = 0; from < text.length(); from += step) {
      tail.append(in, from, Math.min(step, text.length() - from));
    }
    return tail;
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 3, 8, 100})
  void eventsEndWithAnEmptyLine(int step) {
    for (String end : new String[] {"\n\n", "\r\n\r\n"}) {
      EventTail list = tail("data: [DONE]" + end, step);
      assertThat(list.betweenEvents()).isTrue();
      assertThat(list.endsList()).isTrue();
      assertThat(list.endsTextObject()).isFalse();
      EventTail object = tail("data: {\"a\":\"b\"}" + end, step);
      assertThat(object.endsTextObject()).isTrue();
      assertThat(object.endsList()).isFalse();
      assertThat(tail("data: {\"a\":1}" + end, step).endsTextObject()).isFalse();
    }
    for (String part : new String[] {"", "\n", "\r\n", "\r\n\r"}) {
      EventTail list = tail("data: [DONE]" + part, step);
      assertThat(list.betweenEvents()).isFalse();
      assertThat(list.endsList()).isFalse();
    }
  }

  @Test
  void anEmptyStreamIsBetweenTwoEvents() {
    EventTail empty = new EventTail();
    assertThat(empty.betweenEvents()).isTrue();
    assertThat(empty.endsList()).isFalse();
    assertThat(empty.endsTextObject()).isFalse();
  }
}

package io.pointsman.proxy.wire;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import org.junit.jupiter.api.Test;

class Latin1Test {
  @Test
  void otherCharactersBecomeQuestionMarks() {
    ByteBuf out = Unpooled.buffer();
    Latin1.write(out, "/p\u00e9\u00ff?a=\u20ac");
    assertThat(out.toString(ISO_8859_1)).isEqualTo("/p\u00e9\u00ff?a=?");
  }
}

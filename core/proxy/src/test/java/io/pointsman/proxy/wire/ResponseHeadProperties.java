package io.pointsman.proxy.wire;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;

/** The parser of answers' heads on arbitrary bytes. */
class ResponseHeadProperties {
  @Property
  void answersWithALengthOrAVerdictAndNeverThrows(@ForAll String tail) {
    byte[] bytes = ("HTTP/1.1 200 OK\r\n" + tail).getBytes(StandardCharsets.UTF_8);
    assertThat(new ResponseHead().parse(bytes, bytes.length))
        .isBetween(ResponseHead.MALFORMED, bytes.length);
  }

  @Property
  void sameResultWithAnyBytesAfterTheHead(@ForAll byte[] after) {
    byte[] head = "HTTP/1.1 200 OK\r\na: b\r\n\r\n".getBytes(StandardCharsets.US_ASCII);
    byte[] all = new byte[head.length + after.length];
    System.arraycopy(head, 0, all, 0, head.length);
    System.arraycopy(after, 0, all, head.length, after.length);

    assertThat(new ResponseHead().parse(all, all.length)).isEqualTo(head.length);
  }
}

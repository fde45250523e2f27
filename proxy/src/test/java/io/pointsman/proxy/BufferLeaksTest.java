package io.pointsman.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBufAllocator;
import org.junit.jupiter.api.Test;

/** What every test of the proxy ends with finds what it looks for. */
class BufferLeaksTest {
  @Test
  void aBufferThatNobodyReleasesIsFoundOnce() {
    BufferLeaks.watch();
    lose();
    assertThat(BufferLeaks.found())
        .anySatisfy(leak -> assertThat(leak).contains("lost on purpose"));
    assertThat(BufferLeaks.found()).isEmpty();
  }

  private static void lose() {
    ByteBufAllocator.DEFAULT.buffer(16).touch("lost on purpose");
  }
}

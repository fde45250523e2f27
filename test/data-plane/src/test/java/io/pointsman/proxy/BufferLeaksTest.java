package io.pointsman.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBufAllocator;
import org.junit.jupiter.api.Test;

/** The check at the end of each test of the proxy finds leaks. */
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

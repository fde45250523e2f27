package io.pointsman.proxy.upstream;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollSocketChannel;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

class EarlyBytesTest {
  /** The same state as after a reset that was read. */
  @Test
  @EnabledOnOs(OS.LINUX)
  void aSocketThatIsNotConnectedCannotBeUsed() {
    Epoll.ensureAvailability();
    EpollSocketChannel channel = new EpollSocketChannel();
    try {
      assertThat(new EarlyBytes().in(channel)).isTrue();
    } finally {
      channel.unsafe().closeForcibly();
    }
  }
}

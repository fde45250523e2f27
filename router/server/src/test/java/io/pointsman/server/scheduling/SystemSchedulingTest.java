package io.pointsman.server.scheduling;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.channel.IoHandler;
import io.pointsman.engine.env.LargePages;
import java.lang.reflect.Proxy;
import org.junit.jupiter.api.Test;

class SystemSchedulingTest {
  private final IoHandler sockets =
      (IoHandler)
          Proxy.newProxyInstance(
              IoHandler.class.getClassLoader(),
              new Class<?>[] {IoHandler.class},
              (_, method, _) -> {
                throw new AssertionError(method);
              });

  private IoHandler waiting(boolean enabled) {
    return new SystemScheduling(enabled).waiting(() -> 0).around(sockets, () -> 0);
  }

  @Test
  void oneKeySwitchesAllChangesOff() {
    assertThat(waiting(true)).isInstanceOf(Coalescing.class);
    assertThat((Object) waiting(false)).isSameAs(sockets);
    assertThat(new SystemScheduling(false).largePages()).isSameAs(LargePages.NONE);
  }
}

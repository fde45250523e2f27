package io.pointsman.plane.haproxy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.EOFException;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class RuntimeApiTest {
  @TempDir private Path directory;

  private FakeRuntime haproxy;

  @BeforeEach
  void open() throws IOException {
    haproxy = new FakeRuntime(directory.resolve("s"));
  }

  @AfterEach
  void close() throws IOException {
    haproxy.close();
  }

  private RuntimeApi runtime(Duration limit) {
    return new RuntimeApi(directory.resolve("s"), limit);
  }

  @Test
  void aHangingHaproxyTimesOutAndIsTriedAgain() throws Exception {
    haproxy.hangs = true;
    RuntimeApi impatient = runtime(Duration.ofMillis(50));
    assertThatThrownBy(() -> impatient.ask("show stat"))
        .isInstanceOf(SocketTimeoutException.class)
        .hasMessage("HAProxy does not answer on its own socket within 50 ms");
    assertThatThrownBy(() -> impatient.run("set server a/b state maint"))
        .isInstanceOf(SocketTimeoutException.class);

    haproxy.hangs = false;
    haproxy.says = _ -> "well";
    assertThat(runtime(Duration.ofSeconds(60)).ask("show stat")).isEqualTo("well");
  }

  @Test
  void anEmptyResponseIsAFailure() {
    haproxy.breaks = _ -> true;

    assertThatThrownBy(() -> runtime(Duration.ofSeconds(60)).run("add map m a b"))
        .isInstanceOf(EOFException.class);
  }
}

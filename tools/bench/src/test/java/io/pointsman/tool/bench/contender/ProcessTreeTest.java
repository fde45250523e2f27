package io.pointsman.tool.bench.contender;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** Information about process trees. */
final class ProcessTreeTest {
  @Test
  void aJvmInTheTreeIsFound() throws Exception {
    Process sleep = new ProcessBuilder("sleep", "30").start();
    try {
      assertThat(new ProcessTree(ProcessHandle.current()).hasJvm()).isTrue();
      assertThat(new ProcessTree(sleep.toHandle()).hasJvm()).isFalse();
    } finally {
      sleep.destroyForcibly();
    }
  }
}

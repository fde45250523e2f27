package io.pointsman.server.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

class TrainingTest {
  private static final String JAVA =
      Path.of(System.getProperty("java.home"), "bin", "java").toString();

  /** The end by a signal is orderly; otherwise the JVM writes no cache. */
  @Test
  void theTrainedRouterServesAndEndsInOrder() throws Exception {
    List<String> serve =
        List.of(
            JAVA,
            "--enable-native-access=ALL-UNNAMED",
            "--sun-misc-unsafe-memory-access=allow",
            "-cp",
            System.getProperty("java.class.path"),
            "io.pointsman.server.cli.Main",
            "serve");
    assertThat(Training.run(serve)).isZero();
  }

  @Test
  void aRouterThatDoesNotStartIsAFailure() {
    assertThatThrownBy(() -> Training.run(List.of(JAVA, "-version")))
        .isInstanceOf(IOException.class)
        .hasMessage("the router ended before it listened");
  }
}

package io.pointsman.server.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.config.ConfigException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PlaneKeyTest {
  @TempDir private Path directory;

  private Path file(String text) throws IOException {
    return Files.writeString(directory.resolve("kept"), text);
  }

  @Test
  void aFileWinsOverTheEnvironmentAndAFlagOverIt() throws IOException {
    Map<String, String> environment = Map.of("POINTSMAN_API_KEY", "kept");

    assertThat(PlaneKey.OF_ROUTER.of(null, null, Map.of())).isEmpty();
    assertThat(PlaneKey.OF_ROUTER.of(null, null, environment)).isEqualTo("kept");
    assertThat(PlaneKey.OF_ROUTER.of(null, file(" of-file\n"), environment)).isEqualTo("of-file");
    assertThat(PlaneKey.OF_ROUTER.of("given", null, environment)).isEqualTo("given");
  }

  @Test
  void anInvalidKeyIsRefusedWithoutPrintingIt() throws IOException {
    for (String wrong : new String[] {"", "two words", "umlaut-\u00e4", "x".repeat(4097)}) {
      assertThatThrownBy(() -> PlaneKey.OF_ROUTER.of(wrong, null, Map.of()))
          .isInstanceOf(ConfigException.class)
          .hasMessage("--api-key: (expected: a key, 1 to 4096 characters of ASCII without spaces)");
    }
    Path lines = file("first\nsecond");
    assertThatThrownBy(() -> PlaneKey.OF_ROUTER.of(null, lines, Map.of()))
        .hasMessageStartingWith("--api-key-file: " + lines)
        .hasMessageNotContaining("first")
        .hasMessageNotContaining("second");
    assertThatThrownBy(() -> PlaneKey.OF_ROUTER.of(null, directory.resolve("none"), Map.of()))
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining("cannot be read");
    assertThatThrownBy(() -> PlaneKey.OF_ROUTER.of("given", lines, Map.of()))
        .hasMessage("--api-key-file: given beside --api-key (expected: one of them)");
  }

  @Test
  void theEnginesKeyHasItsOwnFlagsAndVariable() throws IOException {
    Map<String, String> environment =
        Map.of("POINTSMAN_API_KEY", "routers", "POINTSMAN_ENGINE_API_KEY", "engines");

    assertThat(PlaneKey.OF_ENGINES.of(null, null, environment)).isEqualTo("engines");
    assertThat(PlaneKey.OF_ROUTER.of(null, null, environment)).isEqualTo("routers");
    assertThatThrownBy(() -> PlaneKey.OF_ENGINES.of("", null, environment))
        .hasMessageStartingWith("--engine-api-key: (expected: a key");
    assertThatThrownBy(() -> PlaneKey.OF_ENGINES.of("x", file("y"), environment))
        .hasMessage("--engine-api-key-file: given beside --engine-api-key (expected: one of them)");
  }
}

package io.pointsman.app.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.app.config.ConfigException;
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

    assertThat(PlaneKey.of(null, null, Map.of())).isEmpty();
    assertThat(PlaneKey.of(null, null, environment)).isEqualTo("kept");
    assertThat(PlaneKey.of(null, file(" of-file\n"), environment)).isEqualTo("of-file");
    assertThat(PlaneKey.of("given", null, environment)).isEqualTo("given");
  }

  @Test
  void whatCannotBeAKeyIsRefusedWithoutBeingRepeated() throws IOException {
    for (String wrong : new String[] {"", "two words", "umlaut-\u00e4", "x".repeat(4097)}) {
      assertThatThrownBy(() -> PlaneKey.of(wrong, null, Map.of()))
          .isInstanceOf(ConfigException.class)
          .hasMessage("--api-key: (expected: a key, 1 to 4096 characters of ASCII without spaces)");
    }
    Path lines = file("first\nsecond");
    assertThatThrownBy(() -> PlaneKey.of(null, lines, Map.of()))
        .hasMessageStartingWith("--api-key-file: " + lines)
        .hasMessageNotContaining("first")
        .hasMessageNotContaining("second");
    assertThatThrownBy(() -> PlaneKey.of(null, directory.resolve("none"), Map.of()))
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining("cannot be read");
    assertThatThrownBy(() -> PlaneKey.of("given", lines, Map.of()))
        .hasMessage("--api-key-file: given beside --api-key (expected: one of them)");
  }
}

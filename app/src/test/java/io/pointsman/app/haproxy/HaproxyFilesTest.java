package io.pointsman.app.haproxy;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class HaproxyFilesTest {
  private static final HaproxySettings SETTINGS =
      HaproxySettings.of(
          InetSocketAddress.createUnresolved("127.0.0.1", 0), URI.create("http://127.0.0.1:1"));

  private static String written(HaproxySettings settings) throws IOException {
    StringBuilder text = new StringBuilder();
    try (HaproxyFiles files = HaproxyFiles.write(settings, 2, 3)) {
      Path directory = Path.of(files.configuration()).getParent();
      try (Stream<Path> all = Files.walk(directory)) {
        for (Path file : all.filter(Files::isRegularFile).toList()) {
          text.append(Files.readString(file));
        }
      }
    }
    return text.toString();
  }

  @Test
  void everyNameIsFilledIn() throws IOException {
    assertThat(written(SETTINGS)).doesNotContainPattern("@[A-Z_]+@");
  }

  @Test
  void noKeyStandsInAFile() throws IOException {
    String text = written(SETTINGS.withApiKey("for-the-router").withEngineKey("for-engines"));

    assertThat(text).doesNotContain("for-the-router", "for-engines");
    assertThat(text).contains("streq(yes,yes)\n  # As the built-in proxy does");
    assertThat(written(SETTINGS)).contains("streq(no,yes)\n  # As the built-in proxy does");
  }

  @Test
  void settingsAreToldWithoutKeys() {
    assertThat(SETTINGS.withApiKey("for-the-router").withEngineKey("for-engines").toString())
        .doesNotContain(List.of("for-the-router", "for-engines"));
  }
}

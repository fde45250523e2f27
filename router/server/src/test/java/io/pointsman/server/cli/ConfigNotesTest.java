package io.pointsman.server.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.config.ConfigValues;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.YamlConfig;
import java.util.List;
import org.junit.jupiter.api.Test;

class ConfigNotesTest {
  private static List<String> notes(String yaml) {
    ConfigValues values = YamlConfig.parse("test", "workers: [\"http://a:1\"]\n" + yaml);
    return ConfigNotes.of(values, PointsmanConfig.from(values));
  }

  @Test
  void aListOfOriginsWithoutCorsIsNamed() {
    assertThat(notes("cors: {allowed-origins: [\"https://chat.example\"]}\n"))
        .singleElement()
        .asString()
        .startsWith("cors.allowed-origins: without cors.enabled it applies to WebSockets only");
    assertThat(notes("cors: {enabled: true, allowed-origins: [\"https://chat.example\"]}\n"))
        .isEmpty();
    assertThat(notes("")).isEmpty();
  }

  @Test
  void slipsInTheListOfWorkersAreNamedToo() {
    assertThat(notes("max-workers: 8\n")).isEmpty();
    assertThat(ConfigNotes.of(new ConfigValues(), PointsmanConfig.from(new ConfigValues())))
        .singleElement()
        .asString()
        .startsWith("no workers");
  }
}

package io.pointsman.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.config.key.ConfigKeys;
import io.pointsman.config.key.FormerKeys;
import io.pointsman.config.key.FormerKeys.Former;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class FormerKeysTest {
  static List<Former> all() {
    return FormerKeys.all();
  }

  @ParameterizedTest
  @MethodSource("all")
  void theFileIsRefusedWithThePresentName(Former former) {
    String text = "policy: random\n" + former.path().replace(".", ":\n  ") + ": 1\n";
    assertThatThrownBy(() -> YamlConfig.parse("router.yaml", text))
        .isInstanceOf(ConfigException.class)
        .hasMessage(
            "router.yaml:3: %s: former name (expected: %s)"
                .formatted(former.path(), former.key().path()));
  }

  @ParameterizedTest
  @MethodSource("all")
  void aFormerNameIsNotPresent(Former former) {
    assertThat(ConfigKeys.paths()).doesNotContain(former.path()).contains(former.key().path());
    assertThat(ConfigKeys.all()).noneMatch(key -> key.flag().equals(former.flag()));
  }

  @Test
  void eachFormerNameIsListedOnce() {
    assertThat(all()).extracting(Former::path).doesNotHaveDuplicates();
    assertThat(all()).extracting(Former::flag).doesNotHaveDuplicates();
  }
}

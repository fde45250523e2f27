package io.pointsman.config.value;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

final class NearestTest {
  @Test
  void twoSwappedLettersAreOneMistake() {
    assertThat(Nearest.to("modle", List.of("role", "model"))).contains("model");
  }

  @Test
  void insertionsDeletionsAndReplacementsAreFound() {
    List<String> names = List.of("policy", "workers", "listen");
    assertThat(Nearest.to("polcy", names)).contains("policy");
    assertThat(Nearest.to("worrkers", names)).contains("workers");
    assertThat(Nearest.to("lizten", names)).contains("listen");
  }

  @Test
  void aWordFarFromAllNamesHasNoHint() {
    assertThat(Nearest.hint("breaker", List.of("policy", "listen"))).isEmpty();
  }
}

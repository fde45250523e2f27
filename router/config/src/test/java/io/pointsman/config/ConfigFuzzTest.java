package io.pointsman.config;

import io.pointsman.testkit.fuzz.Corpus;
import java.io.IOException;
import org.junit.jupiter.api.Test;

/** The short run of {@link ConfigFuzz}; {@code test/it/fuzz config} is the long one. */
class ConfigFuzzTest {
  @Test
  void corpusAndItsMutationsAreRefusedOrReadBack() throws IOException {
    Corpus.of("router/config", "config").run(ConfigFuzz::fuzzerTestOneInput, 3_000);
  }
}

package io.pointsman.request;

import io.pointsman.testkit.fuzz.Corpus;
import java.io.IOException;
import org.junit.jupiter.api.Test;

/** Bounded run of {@link BodyScannerFuzz}; {@code test/it/fuzz body} is the unbounded one. */
class BodyScannerFuzzTest {
  @Test
  void corpusAndItsMutationsAreReadAsJacksonReadsThem() throws IOException {
    Corpus.of("core/request", "body").run(BodyScannerFuzz::fuzzerTestOneInput, 10_000);
  }
}

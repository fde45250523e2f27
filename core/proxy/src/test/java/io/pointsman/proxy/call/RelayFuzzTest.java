package io.pointsman.proxy.call;

import io.pointsman.testkit.fuzz.Corpus;
import java.io.IOException;
import org.junit.jupiter.api.Test;

/** Bounded run of {@link RelayFuzz}; {@code test/it/fuzz relay} is the unbounded one. */
class RelayFuzzTest {
  @Test
  void clientsGetTheBytesOfTheReferenceModel() throws IOException {
    Corpus.of("core/proxy", "relay").run(RelayFuzz::fuzzerTestOneInput, 10_000);
  }
}

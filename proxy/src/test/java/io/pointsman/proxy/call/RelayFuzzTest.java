package io.pointsman.proxy.call;

import io.pointsman.testkit.fuzz.Corpus;
import java.io.IOException;
import org.junit.jupiter.api.Test;

/** The bounded run of {@link RelayFuzz}; {@code it/fuzz relay} is the long one. */
class RelayFuzzTest {
  @Test
  void clientsGetWhatAPlainReadingOfTheBytesSays() throws IOException {
    Corpus.of("proxy", "relay").run(RelayFuzz::fuzzerTestOneInput, 10_000);
  }
}

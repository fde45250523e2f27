package io.pointsman.control.kvevents.wire;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.testkit.fuzz.Corpus;
import java.io.IOException;
import org.junit.jupiter.api.Test;

/** The short run of {@link BatchFuzz}; {@code test/it/fuzz kv-events} is the long one. */
class BatchFuzzTest {
  @Test
  void corpusAndItsMutationsAreReadOrRefused() throws IOException {
    Corpus.of("router/control", "kv-events").run(BatchFuzz::fuzzerTestOneInput, 30_000);
  }

  /** The mutations must start from valid batches; otherwise they are refused at once. */
  @Test
  void theCorpusIsOfBatches() throws IOException, MalformedBatch {
    for (byte[] input : Corpus.of("router/control", "kv-events").inputs()) {
      assertThat(BatchReader.read(input, 4096).events()).isNotEmpty();
    }
  }
}

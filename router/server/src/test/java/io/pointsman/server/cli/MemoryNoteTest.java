package io.pointsman.server.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class MemoryNoteTest {
  @Test
  void tooLittleMemoryIsNamedWithTheLeastAndTheRemedy() {
    assertThat(MemoryNote.of("300"))
        .contains(
            "memory: 300 MiB for this process (expected: 384 or more); the kernel may end the"
                + " router under load. Raise the memory limit of the container or unit, or"
                + " POINTSMAN_MEMORY");
    assertThat(MemoryNote.of(null)).isEmpty();
  }

  @Test
  void theLauncherHasTheSameLimit() throws IOException {
    Path launcher = Path.of(System.getProperty("pointsman.root", "../.."), "pointsman");

    assertThat(Files.readString(launcher))
        .contains("[ \"$memory\" -ge " + MemoryNote.LEAST + " ] || too_small=")
        .contains("# Below " + MemoryNote.LEAST + " MiB ");
  }
}

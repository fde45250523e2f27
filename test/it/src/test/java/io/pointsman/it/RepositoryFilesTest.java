package io.pointsman.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.testkit.RepositoryFiles;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Lists files while others come and go. */
class RepositoryFilesTest {
  @TempDir private Path directory;

  @Test
  void filesThatGoMeanwhileDoNotFailTheWalk() throws Exception {
    Path source = Files.writeString(directory.resolve("A.java"), "");
    AtomicBoolean done = new AtomicBoolean();
    Thread other = Thread.ofPlatform().start(() -> comeAndGo(done));
    try {
      for (int walk = 0; walk < 300; walk++) {
        assertThat(RepositoryFiles.below(directory)).contains(source);
      }
    } finally {
      done.set(true);
      other.join();
    }
  }

  private void comeAndGo(AtomicBoolean done) {
    try {
      while (!done.get()) {
        for (int file = 0; file < 50; file++) {
          Files.createFile(directory.resolve("file" + file));
        }
        for (int file = 0; file < 50; file++) {
          Files.delete(directory.resolve("file" + file));
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Test
  void builtAndFetchedFilesAreLeftOut() throws IOException {
    Path source = Files.writeString(directory.resolve("A.java"), "");
    Files.writeString(Files.createDirectory(directory.resolve("target")).resolve("B.java"), "");

    assertThat(RepositoryFiles.below(directory)).containsExactly(source);
  }

  @Test
  void aDirectoryThatIsNotThereIsAnError() {
    assertThatThrownBy(() -> RepositoryFiles.below(directory.resolve("no")))
        .isInstanceOf(NoSuchFileException.class);
  }
}

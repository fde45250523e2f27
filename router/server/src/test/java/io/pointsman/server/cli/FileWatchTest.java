package io.pointsman.server.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

class FileWatchTest {
  @TempDir Path directory;

  @Test
  void eachChangeOfTheContentsIsReportedOnce() throws Exception {
    Path file = Files.writeString(directory.resolve("a"), "one");
    AtomicInteger changes = new AtomicInteger();
    FileWatch watch = new FileWatch(file);
    watch.look(changes::incrementAndGet);
    assertThat(changes).hasValue(0);
    Files.writeString(file, "two");
    look(watch, changes, 3);
    assertThat(changes).hasValue(1);
    Files.delete(file);
    look(watch, changes, 2);
    assertThat(changes).as("the reason is logged by the reader").hasValue(2);
    Files.writeString(file, "two");
    look(watch, changes, 2);
    assertThat(changes).hasValue(3);
  }

  private static void look(FileWatch watch, AtomicInteger changes, int times) {
    for (int i = 0; i < times; i++) {
      watch.look(changes::incrementAndGet);
    }
  }

  @Test
  void aFileThatIsBeingWrittenIsNoChange() throws Exception {
    Path file = Files.writeString(directory.resolve("a"), "workers: [a, b]");
    AtomicInteger changes = new AtomicInteger();
    FileWatch watch = new FileWatch(file);
    for (String part : List.of("", "workers: [a]", "workers: [a, b]")) {
      Files.writeString(file, part);
      look(watch, changes, 1);
    }
    look(watch, changes, 2);
    assertThat(changes).hasValue(0);
    Files.writeString(file, "workers: [c]");
    look(watch, changes, 1);
    assertThat(changes).hasValue(0);
    look(watch, changes, 1);
    assertThat(changes).hasValue(1);
  }

  @Test
  @Timeout(60)
  void aPipeOrAHugeFileCountsAsUnreadable() throws Exception {
    Path file = Files.writeString(directory.resolve("a"), "one");
    AtomicInteger changes = new AtomicInteger();
    FileWatch watch = new FileWatch(file);
    Files.delete(file);
    assertThat(new ProcessBuilder("mkfifo", file.toString()).start().waitFor()).isZero();
    look(watch, changes, 3);
    assertThat(changes).hasValue(1);
    Files.delete(file);
    Files.write(file, new byte[17 << 20]);
    look(watch, changes, 3);
    assertThat(changes).as("unreadable as before").hasValue(1);
    Files.writeString(file, "two");
    look(watch, changes, 2);
    assertThat(changes).hasValue(2);
  }

  @Test
  void commentsAndWhiteSpaceAreNoKeys() throws Exception {
    Path file = directory.resolve("a");
    assertThat(FileWatch.hasNoKey(file)).isFalse();
    assertThat(FileWatch.hasNoKey(Files.writeString(file, ""))).isTrue();
    assertThat(FileWatch.hasNoKey(Files.writeString(file, "# a: b\n\n  # c\n"))).isTrue();
    assertThat(FileWatch.hasNoKey(Files.writeString(file, "# a\npolicy: cost\n"))).isFalse();
  }
}

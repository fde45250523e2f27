package io.pointsman.server.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
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
    watch.look(changes::incrementAndGet);
    watch.look(changes::incrementAndGet);
    assertThat(changes).hasValue(1);
    Files.delete(file);
    watch.look(changes::incrementAndGet);
    assertThat(changes).as("the reason is logged by the reader").hasValue(2);
    Files.writeString(file, "two");
    watch.look(changes::incrementAndGet);
    assertThat(changes).hasValue(3);
  }
}

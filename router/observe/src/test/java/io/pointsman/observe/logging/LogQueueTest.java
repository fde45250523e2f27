package io.pointsman.observe.logging;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.pointsman.config.settings.LogSettings;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Lines of the log on their way to an output that is idle, busy, or too slow. */
@ResourceLock("log")
@Timeout(60)
class LogQueueTest {
  private static final Logger log = LoggerFactory.getLogger(LogQueueTest.class);
  private static final LogSettings SETTINGS =
      new LogSettings(LogSettings.Level.INFO, LogSettings.Format.TEXT, "");

  /** An output that passes on each call of the writer, and can hold it up. */
  private static final class Output extends OutputStream {
    final BlockingQueue<String> calls = new LinkedBlockingQueue<>();
    private final StringBuilder text = new StringBuilder();
    final CountDownLatch blocked = new CountDownLatch(1);
    final CountDownLatch free;

    Output(CountDownLatch free) {
      this.free = free;
    }

    @Override
    public void write(int b) {
      throw new IllegalStateException("a call for each byte");
    }

    @Override
    public void write(byte[] bytes, int offset, int length) {
      blocked.countDown();
      boolean held = true;
      while (held) {
        try {
          free.await();
          held = false;
        } catch (InterruptedException _) {
          // The end of the log interrupts its writer; the output stays slow.
        }
      }
      String call = new String(bytes, offset, length, StandardCharsets.UTF_8);
      synchronized (text) {
        text.append(call);
      }
      calls.add(call);
    }

    String text() {
      synchronized (text) {
        return text.toString();
      }
    }
  }

  private static List<String> messages(String text) {
    List<String> found = new ArrayList<>();
    text.lines().forEach(line -> found.add(line.substring(line.indexOf(": ") + 2)));
    return found;
  }

  private static List<String> numbered(int count) {
    return IntStream.range(0, count).mapToObj(i -> "line " + i).toList();
  }

  /** A person who waits for a line gets it without a further one. */
  @Test
  void aSingleLineIsWrittenAtOnce() throws Exception {
    Output out = new Output(new CountDownLatch(0));
    try (LogSetup _ = LogSetup.start(SETTINGS, out)) {
      for (int i = 0; i < 3; i++) {
        log.info("line {}", i);
        String call = out.calls.poll(50, TimeUnit.SECONDS);
        assertThat(messages(String.valueOf(call))).containsExactly("line " + i);
      }
    }
  }

  @Test
  void linesOfABusyMomentAreOneWriteInTheirOrder() throws Exception {
    CountDownLatch free = new CountDownLatch(1);
    Output out = new Output(free);
    try (LogSetup _ = LogSetup.start(SETTINGS, out)) {
      log.info("line 0");
      out.blocked.await();
      for (int i = 1; i < 1000; i++) {
        log.info("line {}", i);
      }
      free.countDown();
    }
    assertThat(messages(out.text())).isEqualTo(numbered(1000));
    // A write for the first line, and some for the others, which are longer than the buffer.
    assertThat(out.calls).hasSizeLessThan(20);
  }

  /** The queue is limited, and the output names the missing lines. */
  @Test
  void linesBeyondTheQueueAreCounted() throws Exception {
    CountDownLatch free = new CountDownLatch(1);
    Output out = new Output(free);
    long lostBefore = LogSetup.lostLines();
    try (LogSetup _ = LogSetup.start(SETTINGS, out)) {
      log.info("line 0");
      out.blocked.await();
      for (int i = 1; i <= LogQueue.LENGTH + 7; i++) {
        log.info("line {}", i);
      }
      free.countDown();
      while (!out.text().contains("dropped")) {
        assertThat(out.calls.poll(50, TimeUnit.SECONDS)).isNotNull();
      }
      log.info("later");
    }
    assertThat(LogSetup.lostLines() - lostBefore).isEqualTo(7);
    List<String> written = messages(out.text());
    assertThat(written).hasSize(LogQueue.LENGTH + 3);
    assertThat(written.subList(0, LogQueue.LENGTH + 1)).isEqualTo(numbered(LogQueue.LENGTH + 1));
    assertThat(written.subList(LogQueue.LENGTH + 1, LogQueue.LENGTH + 3))
        .containsExactly(
            "7 lines of the log were dropped, because its output is too slow", "later");
  }

  /** As standard error in a file on a full disk. */
  @Test
  void linesThatCannotBeWrittenAreCountedAndLaterOnesAreWritten() throws Exception {
    AtomicBoolean full = new AtomicBoolean(true);
    ByteArrayOutputStream written = new ByteArrayOutputStream();
    OutputStream disk =
        new OutputStream() {
          @Override
          public void write(int b) throws IOException {
            write(new byte[] {(byte) b}, 0, 1);
          }

          @Override
          public void write(byte[] bytes, int offset, int length) throws IOException {
            if (full.get()) {
              throw new IOException("No space left on device");
            }
            written.write(bytes, offset, length);
          }
        };
    long lostBefore = LogSetup.lostLines();
    try (LogSetup _ = LogSetup.start(SETTINGS, disk)) {
      log.info("lost");
      await(() -> LogSetup.lostLines() > lostBefore);
      full.set(false);
      log.info("kept");
    }
    assertThat(LogSetup.lostLines() - lostBefore).isEqualTo(1);
    assertThat(messages(written.toString(StandardCharsets.UTF_8))).containsExactly("kept");
  }

  /** {@code /dev/full} refuses each write, as a full disk does. */
  @Test
  void linesOfAFileOnAFullDiskAreCounted(@TempDir Path folder) throws Exception {
    Path device = Path.of("/dev/full");
    assumeThat(device).exists();
    Path file = folder.resolve("pointsman.log");
    long lostBefore = LogSetup.lostLines();
    try (LogSetup _ = LogSetup.start(inFolder(folder), new ByteArrayOutputStream())) {
      log.info("before");
      await(() -> Files.size(file) > 0);
      Files.delete(file);
      Files.createSymbolicLink(file, device);
      log.info("one");
      await(() -> LogSetup.lostLines() == lostBefore + 1);
      log.info("two");
      await(() -> LogSetup.lostLines() == lostBefore + 2);
      Files.delete(file);
      log.info("after");
    }
    assertThat(messages(Files.readString(file))).containsExactly("after");
    assertThat(LogSetup.lostLines()).isEqualTo(lostBefore + 2);
  }

  private static void await(Callable<Boolean> condition) throws Exception {
    while (!condition.call()) {
      Thread.sleep(1); // ends at the time limit of the test
    }
  }

  /** As {@code logrotate} moves a file. */
  @Test
  void linesAfterTheFileWasMovedAreInANewOne(@TempDir Path folder) throws Exception {
    Path file = folder.resolve("pointsman.log");
    Path moved = folder.resolve("pointsman.log.1");
    try (LogSetup _ = LogSetup.start(inFolder(folder), new ByteArrayOutputStream())) {
      log.info("before");
      await(() -> Files.size(file) > 0);
      Files.move(file, moved);
      log.info("after");
      await(() -> Files.exists(file) && Files.size(file) > 0);
      Files.delete(file);
      log.info("again");
    }
    assertThat(messages(Files.readString(moved))).containsExactly("before");
    assertThat(messages(Files.readString(file))).containsExactly("again");
  }

  private static LogSettings inFolder(Path folder) {
    return new LogSettings(LogSettings.Level.INFO, LogSettings.Format.TEXT, folder.toString());
  }

  @Test
  void linesOfSeveralThreadsAllArrive() throws Exception {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    try (LogSetup _ = LogSetup.start(SETTINGS, out)) {
      List<Thread> threads = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        String name = "thread " + i;
        threads.add(
            Thread.ofPlatform()
                .start(
                    () -> {
                      for (int k = 0; k < 500; k++) {
                        log.info("{} {}", name, k);
                      }
                    }));
      }
      for (Thread each : threads) {
        each.join();
      }
    }
    List<String> written = messages(out.toString(StandardCharsets.UTF_8));
    assertThat(written).hasSize(2000);
    for (int i = 0; i < 4; i++) {
      String name = "thread " + i + " ";
      assertThat(written.stream().filter(line -> line.startsWith(name)).toList())
          .isEqualTo(IntStream.range(0, 500).mapToObj(k -> name + k).toList());
    }
  }
}

package io.pointsman.server.scheduling;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.fail;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.SynchronousQueue;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class LoopSchedulingTest {
  @TempDir Path tasks;

  @Test
  void threadKeepsItsNicenessAndGetsTheSliceIfSupported() {
    if (!SchedulerCalls.available()) {
      return;
    }
    SchedulerCalls calls = new SchedulerCalls();
    MemorySegment before = attributesOf(calls, 0);
    LoopScheduling.askForSlices(calls, LoopScheduling.SLICE_NANOS);
    MemorySegment after = attributesOf(calls, 0);
    // Linux before 6.12 neither reports nor accepts a slice.
    long slice = before.get(ValueLayout.JAVA_LONG, SchedulerCalls.RUNTIME);
    assertThat(after.get(ValueLayout.JAVA_LONG, SchedulerCalls.RUNTIME))
        .isEqualTo(slice == 0 ? 0 : LoopScheduling.SLICE_NANOS);
    assertThat(after.get(ValueLayout.JAVA_INT, SchedulerCalls.NICE))
        .isEqualTo(before.get(ValueLayout.JAVA_INT, SchedulerCalls.NICE));
    assertThat(after.get(ValueLayout.JAVA_INT, SchedulerCalls.POLICY))
        .isEqualTo(before.get(ValueLayout.JAVA_INT, SchedulerCalls.POLICY));

    LoopScheduling.askForSlices(calls, LoopScheduling.USUAL_SLICE);
    assertThat(attributesOf(calls, 0).get(ValueLayout.JAVA_LONG, SchedulerCalls.RUNTIME))
        .isEqualTo(slice);
  }

  @Test
  void loopsHaveShortSlicesUntilTheEnd() throws Exception {
    if (!SchedulerCalls.available()) {
      return;
    }
    SchedulerCalls calls = new SchedulerCalls();
    long usual = attributesOf(calls, 0).get(ValueLayout.JAVA_LONG, SchedulerCalls.RUNTIME);
    BlockingQueue<Runnable> tasksOfLoop = new LinkedBlockingQueue<>();

    LoopScheduling begun = LoopScheduling.begin(tasksOfLoop::add);
    tasksOfLoop.take().run();
    assertThat(attributesOf(calls, 0).get(ValueLayout.JAVA_LONG, SchedulerCalls.RUNTIME))
        .isEqualTo(usual == 0 ? 0 : LoopScheduling.SLICE_NANOS);
    begun.end();
    tasksOfLoop.take().run();
    assertThat(attributesOf(calls, 0).get(ValueLayout.JAVA_LONG, SchedulerCalls.RUNTIME))
        .isEqualTo(usual);

    // Before the loops have asked, there is nothing to undo.
    LoopScheduling ended = LoopScheduling.begin(tasksOfLoop::add, Duration.ofHours(1));
    ended.end();
    ended.join();
    assertThat(tasksOfLoop).isEmpty();
  }

  @Test
  void compilersNicenessRisesWithItsUsedTime() {
    Duration used = Duration.ZERO;
    int niceness = LoopScheduling.COMPILER_NICENESS;
    for (LoopScheduling.Phase phase : LoopScheduling.Phase.values()) {
      assertThat(phase.used).isGreaterThan(used);
      assertThat(phase.niceness).isBetween(niceness + 1, 19);
      used = phase.used;
      niceness = phase.niceness;
    }
  }

  @Test
  void onlyThreadsOfOneNameGetAHigherNiceness() throws Exception {
    if (!SchedulerCalls.available()) {
      return;
    }
    SchedulerCalls calls = new SchedulerCalls();
    CountDownLatch seen = new CountDownLatch(1);
    try {
      long compiler = task("C2 CompilerThre", seen);
      long other = task("C1 CompilerThre", seen);
      Files.createDirectory(tasks.resolve("1")); // a thread that has ended has no name
      int before = nice(calls, compiler);

      LoopScheduling.makeNicer(calls, tasks, "C2 CompilerThre", 5);
      assertThat(nice(calls, compiler)).isEqualTo(Math.min(before + 5, 19));
      assertThat(nice(calls, other)).isEqualTo(before);

      LoopScheduling.makeNicer(calls, tasks, "C2 CompilerThre", 2);
      assertThat(nice(calls, compiler)).isEqualTo(Math.min(before + 5, 19));
    } finally {
      seen.countDown();
    }
  }

  @Test
  void optimizingCompilersTimeIsUserAndSystemTimeOfItsThreads() throws Exception {
    stat(
        "7", "C2 CompilerThre", "7 (C2 CompilerThre) R 1 1 1 0 -1 4194368 9 9 9 9 150 25 9 9 20 0");
    stat("8", "C2 CompilerThre", "8 (C2 (x) y) S 1 1 1 0 -1 4194368 9 9 9 9 1 2 9 9 20 0");
    stat("9", "C1 CompilerThre", "9 (C1 CompilerThre) S 1 1 1 0 -1 64 9 9 9 9 100 100 9 9 20 0");
    Files.createDirectory(tasks.resolve("10")); // a thread that has ended
    assertThat(LoopScheduling.used(tasks)).isEqualTo(Duration.ofMillis(1780));
  }

  @Test
  void timeOfThisProcesssCompilerIsRead() throws Exception {
    Path own = Path.of("/proc/self/task");
    if (!Files.isDirectory(own)) {
      return;
    }
    assertThat(LoopScheduling.used(own)).isPositive().isLessThan(Duration.ofDays(1));
  }

  private void stat(String thread, String name, String stat) throws IOException {
    Path directory = Files.createDirectory(tasks.resolve(thread));
    Files.writeString(directory.resolve("comm"), name + "\n");
    Files.writeString(directory.resolve("stat"), stat + "\n");
  }

  /** Starts a thread, adds it to the directory under a name, and returns its Linux id. */
  private long task(String name, CountDownLatch until) throws IOException, InterruptedException {
    SynchronousQueue<String> id = new SynchronousQueue<>();
    Thread.ofPlatform()
        .daemon()
        .start(
            () -> {
              try {
                id.put(
                    Files.readSymbolicLink(Path.of("/proc/thread-self")).getFileName().toString());
                until.await();
              } catch (IOException | InterruptedException e) {
                throw new AssertionError(e);
              }
            });
    String thread = id.take();
    Files.writeString(Files.createDirectory(tasks.resolve(thread)).resolve("comm"), name + "\n");
    return Long.parseLong(thread);
  }

  private static int nice(SchedulerCalls calls, long thread) {
    return attributesOf(calls, thread).get(ValueLayout.JAVA_INT, SchedulerCalls.NICE);
  }

  private static MemorySegment attributesOf(SchedulerCalls calls, long thread) {
    MemorySegment attributes = calls.attributes(thread);
    return attributes == null ? fail("sched_getattr: refused") : attributes;
  }
}

package io.pointsman.server.scheduling;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Gives event loops priority over the JIT compiler when both want the same core, as in the first
 * minutes of a busy router.
 *
 * <p>Each loop requests slices of 0.1 ms from Linux's scheduler, so it runs soon after it wakes;
 * Linux before 6.12 ignores this. The compiler's threads get a higher niceness. A loop that needs
 * more than half of the core then gets it, and garbage collection does not lose time to
 * compilation.
 *
 * <p>The optimizing compiler gets an even higher niceness once most code is compiled, because the
 * rest is seldom used. A loop that has used its share would otherwise wait for the compiler's
 * slice. No privilege is needed.
 */
final class LoopScheduling {
  private static final Logger log = LoggerFactory.getLogger(LoopScheduling.class);

  /** The shortest slice that Linux grants. */
  static final long SLICE_NANOS = 100_000;

  /** Requests the slice that Linux gives without a request. */
  static final long USUAL_SLICE = 0;

  /**
   * Niceness of the compiler relative to the process. A loop that needs slightly more than half of
   * a core gets it. More would delay the compilation that a saturated router needs.
   */
  static final int COMPILER_NICENESS = 1;

  /**
   * Niceness of the optimizing compiler by its used processor time. With 5 a loop gets three
   * quarters of a core, with 10 nine tenths, with 15 all but a thirtieth. The compiler always keeps
   * that share, because a saturated router needs compilation when its load changes.
   */
  enum Phase {
    MOSTLY_COMPILED(Duration.ofMillis(2500), 5),
    COMPILED(Duration.ofSeconds(4), 10),
    SELDOM_USED(Duration.ofSeconds(6), 15);

    final Duration used;
    final int niceness;

    Phase(Duration used, int niceness) {
      this.used = used;
      this.niceness = niceness;
    }
  }

  private static final int MOST_NICE = 19;

  /** The unit of processor time in {@code /proc} on all supported machines. */
  private static final Duration TICK = Duration.ofMillis(10);

  private static final Duration BETWEEN_LOOKS = Duration.ofSeconds(1);
  private static final String FIRST_COMPILER = "C1 CompilerThre";
  private static final String OPTIMIZING_COMPILER = "C2 CompilerThre";

  /** Delay after the start, which must not wait for binding the calls and needs the compiler. */
  private static final Duration AFTER_START = Duration.ofSeconds(1);

  private static final int SCHED_OTHER = 0;
  private static final int SCHED_BATCH = 3;

  private final Consumer<Runnable> onLoops;
  private final Duration afterStart;
  private final CountDownLatch ended = new CountDownLatch(1);
  private final Thread thread =
      Thread.ofPlatform().daemon().name("loop-scheduling").unstarted(this::run);

  /** True if the event loops have asked for short slices. Guarded by this. */
  private boolean asked;

  private LoopScheduling(Consumer<Runnable> onLoops, Duration afterStart) {
    this.onLoops = onLoops;
    this.afterStart = afterStart;
  }

  /**
   * Applies the scheduling for all event loops, once and after a short delay.
   *
   * @param onLoops runs a task on each loop; throws {@link RejectedExecutionException} if they have
   *     ended
   */
  static LoopScheduling begin(Consumer<Runnable> onLoops) {
    return begin(onLoops, AFTER_START);
  }

  /**
   * As {@link #begin(Consumer)}.
   *
   * @param afterStart the delay
   */
  static LoopScheduling begin(Consumer<Runnable> onLoops, Duration afterStart) {
    LoopScheduling begun = new LoopScheduling(onLoops, afterStart);
    if (SchedulerCalls.available()) {
      begun.thread.start();
    }
    return begun;
  }

  /** Waits until nothing more is applied. */
  void join() throws InterruptedException {
    thread.join();
  }

  private void run() {
    try {
      if (!ended.await(afterStart.toMillis(), TimeUnit.MILLISECONDS)) {
        SchedulerCalls calls = new SchedulerCalls();
        askOnLoops(calls);
        followCompiler(calls, Path.of("/proc/self/task"));
      }
    } catch (InterruptedException | RejectedExecutionException e) {
      log.debug("scheduling of event loops not changed: the server was closed", e);
    } catch (IOException | DirectoryIteratorException e) {
      log.debug("priority of compiler threads not changed", e);
    }
  }

  private synchronized void askOnLoops(SchedulerCalls calls) {
    if (ended.getCount() > 0) {
      asked = true;
      onLoops.accept(() -> askForSlices(calls, SLICE_NANOS));
    }
  }

  /** Gives the loops the usual slices, and the compiler's threads no higher niceness. */
  synchronized void end() {
    ended.countDown();
    if (asked) {
      asked = false;
      SchedulerCalls calls = new SchedulerCalls();
      try {
        onLoops.accept(() -> askForSlices(calls, USUAL_SLICE));
      } catch (RejectedExecutionException e) {
        log.debug("scheduling of event loops not changed: the server was closed", e);
      }
    }
  }

  /** Requests slices for the calling thread; its other attributes stay. */
  static void askForSlices(SchedulerCalls calls, long nanos) {
    MemorySegment attributes = shared(calls, 0);
    if (attributes != null) {
      attributes.set(ValueLayout.JAVA_LONG, SchedulerCalls.RUNTIME, nanos);
      change(calls, 0, attributes);
    }
  }

  private void followCompiler(SchedulerCalls calls, Path tasks)
      throws IOException, InterruptedException {
    makeNicer(calls, tasks, FIRST_COMPILER, COMPILER_NICENESS);
    makeNicer(calls, tasks, OPTIMIZING_COMPILER, COMPILER_NICENESS);
    for (Phase phase : Phase.values()) {
      while (used(tasks).compareTo(phase.used) < 0) {
        if (ended.await(BETWEEN_LOOKS.toMillis(), TimeUnit.MILLISECONDS)) {
          return;
        }
      }
      if (ended.getCount() == 0) {
        return;
      }
      makeNicer(calls, tasks, OPTIMIZING_COMPILER, phase.niceness);
    }
  }

  /**
   * Raises the niceness of threads above that of the calling thread. Compiler threads started later
   * inherit it from the compiler thread that starts them.
   *
   * @param tasks a directory per thread of this process, with its name in {@code comm}
   * @param name name of the threads, truncated to 15 characters
   * @throws IOException if the threads cannot be listed
   */
  static void makeNicer(SchedulerCalls calls, Path tasks, String name, int niceness)
      throws IOException {
    MemorySegment own = calls.attributes(0);
    if (own == null) {
      return;
    }
    int wanted = Math.min(own.get(ValueLayout.JAVA_INT, SchedulerCalls.NICE) + niceness, MOST_NICE);
    for (Path thread : named(tasks, name)) {
      setNiceness(calls, Long.parseLong(thread.getFileName().toString()), wanted);
    }
  }

  /**
   * Processor time used by the optimizing compiler's threads.
   *
   * @param tasks a directory per thread of this process, with {@code stat} as in proc(5)
   * @throws IOException if the threads cannot be listed
   */
  static Duration used(Path tasks) throws IOException {
    Duration used = Duration.ZERO;
    for (Path thread : named(tasks, OPTIMIZING_COMPILER)) {
      used = used.plus(TICK.multipliedBy(ticks(thread)));
    }
    return used;
  }

  /** User and system time in ticks; 0 for a thread that has ended. */
  private static long ticks(Path thread) {
    try {
      String stat = Files.readString(thread.resolve("stat"));
      // The name, in parentheses, may contain spaces; the third member follows it.
      String[] members = stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1);
      return Long.parseLong(members[14 - 3]) + Long.parseLong(members[15 - 3]);
    } catch (IOException e) {
      return 0;
    }
  }

  private static List<Path> named(Path tasks, String name) throws IOException {
    List<Path> found = new ArrayList<>();
    try (DirectoryStream<Path> threads = Files.newDirectoryStream(tasks)) {
      for (Path thread : threads) {
        if (isNamed(thread, name)) {
          found.add(thread);
        }
      }
    }
    return found;
  }

  private static boolean isNamed(Path thread, String name) {
    try {
      return Files.readString(thread.resolve("comm")).startsWith(name);
    } catch (IOException e) {
      return false; // it has ended
    }
  }

  private static void setNiceness(SchedulerCalls calls, long thread, int niceness) {
    MemorySegment attributes = shared(calls, thread);
    if (attributes != null
        && attributes.get(ValueLayout.JAVA_INT, SchedulerCalls.NICE) < niceness) {
      attributes.set(ValueLayout.JAVA_INT, SchedulerCalls.NICE, niceness);
      change(calls, thread, attributes);
    }
  }

  /**
   * A thread's attributes; null if they are unavailable, or if the thread has a real-time policy,
   * which is better.
   */
  private static @Nullable MemorySegment shared(SchedulerCalls calls, long thread) {
    MemorySegment attributes = calls.attributes(thread);
    if (attributes == null) {
      log.debug("sched_getattr: refused");
      return null;
    }
    int policy = attributes.get(ValueLayout.JAVA_INT, SchedulerCalls.POLICY);
    return policy == SCHED_OTHER || policy == SCHED_BATCH ? attributes : null;
  }

  private static void change(SchedulerCalls calls, long thread, MemorySegment attributes) {
    if (!calls.change(thread, attributes)) {
      log.debug("sched_setattr: refused");
    }
  }
}

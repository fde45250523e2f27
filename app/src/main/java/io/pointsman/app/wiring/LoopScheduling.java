package io.pointsman.app.wiring;

import io.pointsman.proxy.ProxyServer;
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
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Has event loops run before the JVM's compiler where both want the same core, as in the first
 * minutes of a busy router. Each loop asks Linux's scheduler for slices of 0.1 ms, so that it runs
 * soon after it wakes (systems before Linux 6.12 take no notice); the compiler's threads become
 * nicer, so that a loop that needs more than half of the core has it, and a pause of the collector
 * is not spent on compiling. The optimizing compiler becomes nicer again when most is compiled:
 * what then follows for a minute is seldom used, and a loop that has had its share waits until the
 * compiler's slice is over. No privilege is needed.
 */
final class LoopScheduling {
  private static final Logger log = LoggerFactory.getLogger(LoopScheduling.class);

  /** The shortest that Linux grants. */
  static final long SLICE_NANOS = 100_000;

  /**
   * How much nicer than the process the compiler is: a loop that needs a little more than half of a
   * core has it. A saturated router must be compiled soon, too.
   */
  static final int COMPILER_NICENESS = 1;

  /**
   * How much nicer the optimizing compiler is by the processor time that it has used: with 5 a loop
   * has three quarters of a core, with 10 nine tenths, with 15 all but a thirtieth. That is left to
   * it for good: a router that is saturated must be compiled anew where its work changes.
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

  /** In which unit {@code /proc} tells processor time to programs, on every machine of ours. */
  private static final Duration TICK = Duration.ofMillis(10);

  private static final Duration BETWEEN_LOOKS = Duration.ofSeconds(1);
  private static final String FIRST_COMPILER = "C1 CompilerThre";
  private static final String OPTIMIZING_COMPILER = "C2 CompilerThre";

  /** A start can do without the calls' binding, and wants the compiler. */
  private static final Duration AFTER_START = Duration.ofSeconds(1);

  private static final int SCHED_OTHER = 0;
  private static final int SCHED_BATCH = 3;

  private LoopScheduling() {}

  /** Asks on behalf of all loops of a server, soon and once. */
  static void request(ProxyServer server) {
    if (!SchedulerCalls.available()) {
      return;
    }
    Thread.ofPlatform()
        .daemon()
        .name("loop-scheduling")
        .start(
            () -> {
              try {
                Thread.sleep(AFTER_START);
                SchedulerCalls calls = new SchedulerCalls();
                server.executeOnLoops(() -> askForShortSlices(calls));
                followCompiler(calls, Path.of("/proc/self/task"));
              } catch (InterruptedException | RejectedExecutionException e) {
                log.debug("scheduling of event loops not changed: the server was closed", e);
              } catch (IOException | DirectoryIteratorException e) {
                log.debug("priority of compiler threads not changed", e);
              }
            });
  }

  /** Asks for the calling thread, whose niceness and other attributes stay what they are. */
  static void askForShortSlices(SchedulerCalls calls) {
    MemorySegment attributes = shared(calls, 0);
    if (attributes != null) {
      attributes.set(ValueLayout.JAVA_LONG, SchedulerCalls.RUNTIME, SLICE_NANOS);
      change(calls, 0, attributes);
    }
  }

  private static void followCompiler(SchedulerCalls calls, Path tasks)
      throws IOException, InterruptedException {
    makeNicer(calls, tasks, FIRST_COMPILER, COMPILER_NICENESS);
    makeNicer(calls, tasks, OPTIMIZING_COMPILER, COMPILER_NICENESS);
    for (Phase phase : Phase.values()) {
      while (used(tasks).compareTo(phase.used) < 0) {
        Thread.sleep(BETWEEN_LOOKS);
      }
      makeNicer(calls, tasks, OPTIMIZING_COMPILER, phase.niceness);
    }
  }

  /**
   * Makes threads nicer than the calling one. Threads that the compiler starts later have the
   * niceness of the one that starts them, another one of the compiler's.
   *
   * @param tasks a directory per thread of this process, whose {@code comm} has its name
   * @param name of the threads, cut at 15 characters
   * @throws IOException if they cannot be listed
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
   * Processor time that the optimizing compiler's threads have used.
   *
   * @param tasks a directory per thread of this process, whose {@code stat} is as proc(5) says
   * @throws IOException if they cannot be listed
   */
  static Duration used(Path tasks) throws IOException {
    Duration used = Duration.ZERO;
    for (Path thread : named(tasks, OPTIMIZING_COMPILER)) {
      used = used.plus(TICK.multipliedBy(ticks(thread)));
    }
    return used;
  }

  /** User and system time; 0 of one that has ended. */
  private static long ticks(Path thread) {
    try {
      String stat = Files.readString(thread.resolve("stat"));
      // The name, in parentheses, may have spaces; behind it comes the third member.
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
   * A thread's attributes; null if they are not told, or if somebody has given it a real-time
   * policy, which is better.
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

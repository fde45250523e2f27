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
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Has event loops run before the JVM's compiler where both want the same core, as in the first
 * minutes of a busy router. Each loop asks Linux's scheduler for slices of 0.1 ms, so that it runs
 * soon after it wakes (systems before Linux 6.12 take no notice); the compiler's threads become
 * nicer, so that a loop that needs more than half of the core has it, and a pause of the collector
 * is not spent on compiling. No privilege is needed.
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

  private static final int MOST_NICE = 19;

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
                makeCompilerNicer(calls, Path.of("/proc/self/task"));
              } catch (InterruptedException | RejectedExecutionException e) {
                log.debug("loops are scheduled as they were: the server was closed", e);
              } catch (IOException | DirectoryIteratorException e) {
                log.debug("the compiler is as nice as before", e);
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

  /**
   * Threads that the compiler starts later have the niceness of the one that starts them, another
   * one of the compiler's.
   *
   * @param tasks a directory per thread of this process, whose {@code comm} has its name
   * @throws IOException if they cannot be listed
   */
  static void makeCompilerNicer(SchedulerCalls calls, Path tasks) throws IOException {
    try (DirectoryStream<Path> threads = Files.newDirectoryStream(tasks)) {
      for (Path thread : threads) {
        if (compiles(thread)) {
          makeNicer(calls, Long.parseLong(thread.getFileName().toString()));
        }
      }
    }
  }

  /** Names are cut at 15 characters. */
  private static boolean compiles(Path thread) {
    try {
      String name = Files.readString(thread.resolve("comm"));
      return name.startsWith("C1 CompilerThre") || name.startsWith("C2 CompilerThre");
    } catch (IOException e) {
      return false; // it has ended
    }
  }

  private static void makeNicer(SchedulerCalls calls, long thread) {
    MemorySegment attributes = shared(calls, thread);
    if (attributes != null) {
      int nice = attributes.get(ValueLayout.JAVA_INT, SchedulerCalls.NICE);
      attributes.set(
          ValueLayout.JAVA_INT, SchedulerCalls.NICE, Math.min(nice + COMPILER_NICENESS, MOST_NICE));
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

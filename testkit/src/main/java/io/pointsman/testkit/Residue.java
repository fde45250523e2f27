package io.pointsman.testkit;

import java.io.File;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.time.Duration;
import java.util.Arrays;
import java.util.function.IntSupplier;

/**
 * What this process held before a fault, to be compared with what it holds after it: threads and
 * file descriptors.
 */
public final class Residue {
  /** If so many lose one each, it is more than what is forgiven. */
  public static final int FOUND = 16;

  /** Threads of the JDK's own that may have come meanwhile. */
  private static final int MORE_THREADS = 12;

  /** Descriptors that may have come meanwhile: class files and the like. */
  private static final int MORE_DESCRIPTORS = 12;

  /** Carriers of virtual threads come and go, as many as there are cores and more. */
  private static final String CARRIER = "ForkJoinPool-";

  private final int threads;
  private final int descriptors;

  private Residue(int threads, int descriptors) {
    this.threads = threads;
    this.descriptors = descriptors;
  }

  /** What there is now. */
  public static Residue now() {
    return new Residue(threads(), descriptors());
  }

  /**
   * Waits until no more is held than before, but for a few.
   *
   * @throws AssertionError if it still is after {@link Await#LONG}
   */
  public void verify() {
    verify(Await.LONG);
  }

  /** The same with a limit of its own. */
  public void verify(Duration limit) {
    awaitAtMost("threads", limit, Residue::threads, threads + MORE_THREADS);
    awaitAtMost("descriptors", limit, Residue::descriptors, descriptors + MORE_DESCRIPTORS);
  }

  private static void awaitAtMost(String what, Duration limit, IntSupplier count, int most) {
    Await.until(
        () -> what + ": " + count.getAsInt() + " (expected: at most " + most + ")",
        limit,
        () -> count.getAsInt() <= most);
  }

  private static int threads() {
    ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    return (int)
        Arrays.stream(threads.getThreadInfo(threads.getAllThreadIds()))
            .filter(thread -> thread != null && !thread.getThreadName().startsWith(CARRIER))
            .count();
  }

  private static int descriptors() {
    String[] open = new File("/proc/self/fd").list();
    if (open == null) {
      throw new AssertionError("/proc/self/fd: missing (expected: Linux)");
    }
    return Arrays.asList(open).size();
  }
}

package io.pointsman.testkit;

import java.io.File;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.time.Duration;
import java.util.Arrays;
import java.util.function.IntSupplier;

/**
 * Threads and file descriptors of this process before a fault, for comparison with those after it.
 */
public final class Residue {
  /** Number of repetitions at which a leak of one resource each exceeds the tolerance. */
  public static final int FOUND = 16;

  /** Tolerance for threads that the JDK starts in the meantime. */
  private static final int MORE_THREADS = 12;

  /** Tolerance for descriptors opened in the meantime, for example for class files. */
  private static final int MORE_DESCRIPTORS = 12;

  /** Prefix of carrier threads of virtual threads; their number varies with the number of cores. */
  private static final String CARRIER = "ForkJoinPool-";

  private final int threads;
  private final int descriptors;

  private Residue(int threads, int descriptors) {
    this.threads = threads;
    this.descriptors = descriptors;
  }

  /** Records the present threads and descriptors. */
  public static Residue now() {
    return new Residue(threads(), descriptors());
  }

  /**
   * Waits until there are no more threads and descriptors than before, within the tolerance.
   *
   * @throws AssertionError if there still are more after {@link Await#LONG}
   */
  public void verify() {
    verify(Await.LONG);
  }

  /** The same check with the given limit. */
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

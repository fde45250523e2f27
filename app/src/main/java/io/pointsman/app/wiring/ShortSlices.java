package io.pointsman.app.wiring;

import io.pointsman.proxy.ProxyServer;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Has event loops run soon after they wake: each asks Linux's scheduler for slices of 0.1 ms, by
 * {@code sched_setattr(2)}. Where a loop shares its core with the JVM's compiler, as in the first
 * minute of a busy router, a thread that asked for less is let run first, and its share of the core
 * stays the same. No privilege is needed. Systems before Linux 6.12 take no notice, others have no
 * such call.
 */
final class ShortSlices {
  private static final Logger log = LoggerFactory.getLogger(ShortSlices.class);

  /** The shortest that Linux grants. */
  static final long SLICE_NANOS = 100_000;

  /** Binding the call takes a tenth of a second of a core, which a start can do without. */
  private static final Duration AFTER_START = Duration.ofSeconds(1);

  private static final int SCHED_OTHER = 0;
  private static final int SCHED_BATCH = 3;

  private ShortSlices() {}

  /** Asks on behalf of all loops of a server, soon and once. */
  static void request(ProxyServer server) {
    if (!available()) {
      return;
    }
    Thread.ofPlatform()
        .daemon()
        .name("short-slices")
        .start(
            () -> {
              try {
                Thread.sleep(AFTER_START);
                Calls calls = new Calls();
                server.executeOnLoops(() -> ask(calls));
              } catch (InterruptedException | RejectedExecutionException e) {
                log.debug("no short slices: the server was closed", e);
              }
            });
  }

  /** Whether this system has the call; not whether it takes notice. */
  static boolean available() {
    return System.getProperty("os.name").equals("Linux")
        && Calls.numbers() != null
        && ShortSlices.class.getModule().isNativeAccessEnabled();
  }

  /** Asks for the calling thread, whose niceness and other attributes stay what they are. */
  static void ask(Calls calls) {
    MemorySegment attributes = calls.attributes();
    if (attributes == null) {
      log.debug("sched_getattr: refused");
      return;
    }
    int policy = attributes.get(ValueLayout.JAVA_INT, Calls.POLICY);
    if (policy != SCHED_OTHER && policy != SCHED_BATCH) {
      return; // somebody has given this process a real-time policy, which is better
    }
    attributes.set(ValueLayout.JAVA_LONG, Calls.RUNTIME, SLICE_NANOS);
    if (!calls.change(attributes)) {
      log.debug("sched_setattr: refused");
    }
  }

  /**
   * The two calls, which the C library of older systems has no names for. Bound only when they are
   * needed.
   */
  @SuppressWarnings("restricted") // only with native access enabled
  static final class Calls {
    /** {@code struct sched_attr} in its first form. */
    private static final int BYTES = 48;

    static final int POLICY = 4;
    static final int RUNTIME = 24;

    private final long[] numbers;
    private final MethodHandle get;
    private final MethodHandle set;

    Calls() {
      long[] known = numbers();
      if (known == null) {
        throw new IllegalStateException("sched_setattr: not known (expected: as available tells)");
      }
      numbers = known;
      Linker linker = Linker.nativeLinker();
      MemorySegment syscall = linker.defaultLookup().findOrThrow("syscall");
      Linker.Option variadic = Linker.Option.firstVariadicArg(1);
      MemoryLayout word = ValueLayout.JAVA_LONG;
      MemoryLayout pointer = ValueLayout.ADDRESS;
      get =
          linker.downcallHandle(
              syscall, FunctionDescriptor.of(word, word, word, pointer, word, word), variadic);
      set =
          linker.downcallHandle(
              syscall, FunctionDescriptor.of(word, word, word, pointer, word), variadic);
    }

    /** What {@code sched_setattr} and {@code sched_getattr} are called by; null if not known. */
    static long @Nullable [] numbers() {
      return switch (System.getProperty("os.arch").toLowerCase(Locale.ROOT)) {
        case "amd64", "x86_64" -> new long[] {314, 315};
        case "aarch64", "arm64", "riscv64" -> new long[] {274, 275};
        default -> null;
      };
    }

    /** Those of the calling thread; null if the system does not tell. */
    @Nullable MemorySegment attributes() {
      MemorySegment found = Arena.ofAuto().allocate(BYTES, Long.BYTES);
      try {
        long refused = (long) get.invokeExact(numbers[1], 0L, found, (long) BYTES, 0L);
        return refused == 0 ? found : null;
      } catch (Throwable e) { // what invokeExact declares
        throw new IllegalStateException("sched_getattr: not callable", e);
      }
    }

    /** False if the system refuses. */
    boolean change(MemorySegment attributes) {
      try {
        return (long) set.invokeExact(numbers[0], 0L, attributes, 0L) == 0;
      } catch (Throwable e) { // what invokeExact declares
        throw new IllegalStateException("sched_setattr: not callable", e);
      }
    }
  }
}

package io.pointsman.server.scheduling;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * {@code sched_getattr(2)} and {@code sched_setattr(2)}, which older C libraries do not provide.
 * Threads are identified by their Linux ids; 0 is the calling thread.
 */
@SuppressWarnings("restricted") // only with native access enabled
final class SchedulerCalls {
  /** The first version of {@code struct sched_attr}: size and offsets. */
  private static final int BYTES = 48;

  static final int POLICY = 4;
  static final int NICE = 16;
  static final int RUNTIME = 24;

  private final long[] numbers;
  private final MethodHandle get;
  private final MethodHandle set;

  /**
   * Binds the calls, which takes about 0.1 s of processor time.
   *
   * @throws IllegalStateException if they are not {@linkplain #available() available}
   */
  SchedulerCalls() {
    long[] known = numbers();
    if (known == null) {
      throw new IllegalStateException("sched_setattr: not available on this system");
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

  /** True if this system has the calls; it may still ignore them. */
  static boolean available() {
    return System.getProperty("os.name").equals("Linux")
        && numbers() != null
        && SchedulerCalls.class.getModule().isNativeAccessEnabled();
  }

  /** System call numbers of {@code sched_setattr} and {@code sched_getattr}; null if unknown. */
  private static long @Nullable [] numbers() {
    return switch (System.getProperty("os.arch").toLowerCase(Locale.ROOT)) {
      case "amd64", "x86_64" -> new long[] {314, 315};
      case "aarch64", "arm64", "riscv64" -> new long[] {274, 275};
      default -> null;
    };
  }

  /** The attributes of a thread; null if the system refuses. */
  @Nullable MemorySegment attributes(long thread) {
    MemorySegment found = Arena.ofAuto().allocate(BYTES, Long.BYTES);
    try {
      long refused = (long) get.invokeExact(numbers[1], thread, found, (long) BYTES, 0L);
      return refused == 0 ? found : null;
    } catch (Throwable e) { // declared by invokeExact
      throw new IllegalStateException("sched_getattr: not callable", e);
    }
  }

  /** Sets the attributes of a thread; false if the system refuses. */
  boolean change(long thread, MemorySegment attributes) {
    try {
      return (long) set.invokeExact(numbers[0], thread, attributes, 0L) == 0;
    } catch (Throwable e) { // declared by invokeExact
      throw new IllegalStateException("sched_setattr: not callable", e);
    }
  }
}

package io.pointsman.engine.env;

import java.lang.foreign.MemorySegment;
import java.util.function.Consumer;

/** Off-heap memory in pages larger than the default, for tables with random access. */
@FunctionalInterface
public interface LargePages {
  /** Provides no memory. */
  LargePages NONE = (_, _) -> {};

  /**
   * Requests memory without blocking the caller.
   *
   * @param bytes size in bytes; a multiple of 2 MiB
   * @param ready receives the memory on any thread, zeroed and resident; not called if none is
   *     available
   */
  void find(long bytes, Consumer<MemorySegment> ready);
}

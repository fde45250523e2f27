package io.pointsman.engine.env;

import java.lang.foreign.MemorySegment;
import java.util.function.Consumer;

/** Memory outside of the heap in pages larger than usual, for tables read at random places. */
@FunctionalInterface
public interface LargePages {
  /** There are none. */
  LargePages NONE = (_, _) -> {};

  /**
   * Finds memory, without making the caller wait for it.
   *
   * @param bytes how much; a multiple of 2 MiB
   * @param ready gets it on any thread, zeroed, its pages present; is never called if there is none
   */
  void find(long bytes, Consumer<MemorySegment> ready);
}

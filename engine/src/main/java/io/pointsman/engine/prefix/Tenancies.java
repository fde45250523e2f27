package io.pointsman.engine.prefix;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;

/**
 * Who lives in a worker slot: a number that changes when the slot's worker leaves, so that whatever
 * was noted of it counts no more, without a look at any of it. A tenancy is 32 bits: a count from 1
 * to 65,535 above the slot. A note would come back to life only after 65,535 workers have left its
 * slot.
 */
final class Tenancies {
  private static final int SLOT_BITS = 16;
  private static final int SLOT_MASK = (1 << SLOT_BITS) - 1;

  private final AtomicIntegerArray bySlot;

  private final AtomicInteger departures = new AtomicInteger();

  Tenancies(int slots) {
    if (slots < 1 || slots > 1 << 16) {
      throw new IllegalArgumentException("slots: " + slots + " (expected: 1 to 65536)");
    }
    bySlot = new AtomicIntegerArray(slots);
    for (int slot = 0; slot < slots; slot++) {
      bySlot.setPlain(slot, 1 << SLOT_BITS | slot);
    }
  }

  /** The present tenancy of {@code slot}; never 0, nor below 65,536 as an unsigned number. */
  int of(int slot) {
    return bySlot.getOpaque(slot);
  }

  boolean present(int tenancy) {
    return bySlot.getOpaque(slotOf(tenancy)) == tenancy;
  }

  /**
   * Ends the tenancy of a slot. Not to be called by two threads at once.
   *
   * @param sweep what has to be done before the slot can be given to another
   */
  void end(int slot, Runnable sweep) {
    departures.incrementAndGet();
    int next = bySlot.get(slot) + (1 << SLOT_BITS);
    bySlot.set(slot, next >>> SLOT_BITS == 0 ? next + (1 << SLOT_BITS) : next);
    sweep.run();
    departures.incrementAndGet();
  }

  /** Changes with each end of a tenancy; {@link #quiet} when none is ending. */
  int departures() {
    return departures.get();
  }

  static boolean quiet(int departures) {
    return (departures & 1) == 0;
  }

  static int slotOf(int tenancy) {
    return tenancy & SLOT_MASK;
  }

  int slots() {
    return bySlot.length();
  }
}

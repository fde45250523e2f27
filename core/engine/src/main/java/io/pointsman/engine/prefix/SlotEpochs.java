package io.pointsman.engine.prefix;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;

/**
 * The epoch of each worker slot: a number that changes when the slot's worker leaves. It
 * invalidates all entries of that worker without visiting them. An epoch has 32 bits: a count from
 * 1 to 65,535 above the slot. An old entry would become valid again only after 65,535 departures
 * from its slot.
 */
final class SlotEpochs {
  private static final int SLOT_BITS = 16;
  private static final int SLOT_MASK = (1 << SLOT_BITS) - 1;

  private final AtomicIntegerArray bySlot;

  private final AtomicInteger departures = new AtomicInteger();

  SlotEpochs(int slots) {
    if (slots < 1 || slots > 1 << 16) {
      throw new IllegalArgumentException("slots: " + slots + " (expected: 1 to 65536)");
    }
    bySlot = new AtomicIntegerArray(slots);
    for (int slot = 0; slot < slots; slot++) {
      bySlot.setPlain(slot, 1 << SLOT_BITS | slot);
    }
  }

  /** The current epoch of {@code slot}; as an unsigned number at least 65,536. */
  int of(int slot) {
    return bySlot.getOpaque(slot);
  }

  boolean present(int epoch) {
    return bySlot.getOpaque(slotOf(epoch)) == epoch;
  }

  /**
   * Ends the epoch of a slot. Must not be called by two threads at once.
   *
   * @param sweep work required before the slot can be reused
   */
  void end(int slot, Runnable sweep) {
    departures.incrementAndGet();
    int next = bySlot.get(slot) + (1 << SLOT_BITS);
    bySlot.set(slot, next >>> SLOT_BITS == 0 ? next + (1 << SLOT_BITS) : next);
    sweep.run();
    departures.incrementAndGet();
  }

  /** Changes with each end of an epoch; {@link #quiet} if none is in progress. */
  int departures() {
    return departures.get();
  }

  static boolean quiet(int departures) {
    return (departures & 1) == 0;
  }

  static int slotOf(int epoch) {
    return epoch & SLOT_MASK;
  }

  int slots() {
    return bySlot.length();
  }
}

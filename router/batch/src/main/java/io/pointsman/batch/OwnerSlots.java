package io.pointsman.batch;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.IntSupplier;

/**
 * Slots for work at the same time, such as batches that run. Waiting work gets a slot in the order
 * of its arrival. It is passed over while its owner has as many slots as one may have.
 */
final class OwnerSlots {
  private final int most;
  private final IntSupplier mostOfOwner;
  private final Map<String, Integer> ofOwner = new HashMap<>();

  /** Owners of waiting work by its arrival. */
  private final Map<Object, String> waiting = new LinkedHashMap<>();

  private int running;

  /**
   * @param most maximum number of slots
   * @param mostOfOwner maximum number of slots of one owner; may change, see {@link #changed}
   */
  OwnerSlots(int most, IntSupplier mostOfOwner) {
    this.most = most;
    this.mostOfOwner = mostOfOwner;
  }

  /** Applies a changed number of slots of one owner to waiting work. */
  synchronized void changed() {
    notifyAll();
  }

  /** Waits for a slot. */
  synchronized void enter(String owner) throws InterruptedException {
    Object arrival = new Object();
    waiting.put(arrival, owner);
    try {
      while (!isNext(arrival)) {
        wait();
      }
      take(owner);
    } finally {
      waiting.remove(arrival);
      notifyAll();
    }
  }

  /** Takes a slot, unless there is none for the owner. */
  synchronized boolean tryEnter(String owner) {
    boolean free = running < most && mayEnter(owner);
    if (free) {
      take(owner);
    }
    return free;
  }

  private void take(String owner) {
    running++;
    ofOwner.merge(owner, 1, Integer::sum);
  }

  private boolean mayEnter(String owner) {
    return ofOwner.getOrDefault(owner, 0) < mostOfOwner.getAsInt();
  }

  private boolean isNext(Object arrival) {
    if (running >= most) {
      return false;
    }
    for (Map.Entry<Object, String> each : waiting.entrySet()) {
      if (mayEnter(each.getValue())) {
        return each.getKey().equals(arrival);
      }
    }
    return false;
  }

  /** True if work waits that gets the slot of an owner when that is freed. */
  synchronized boolean wanted(String owner) {
    return waiting.values().stream().anyMatch(each -> each.equals(owner) || mayEnter(each));
  }

  /** Frees a slot. */
  synchronized void leave(String owner) {
    running--;
    ofOwner.computeIfPresent(owner, (_, slots) -> slots == 1 ? null : slots - 1);
    notifyAll();
  }
}

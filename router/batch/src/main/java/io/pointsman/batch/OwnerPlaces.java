package io.pointsman.batch;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Places for work at the same time, such as batches that run. Waiting work gets a place in the
 * order of its arrival. It is passed over while its owner has as many places as one may have.
 */
final class OwnerPlaces {
  private final int most;
  private final int mostOfOwner;
  private final Map<String, Integer> ofOwner = new HashMap<>();

  /** Owners of waiting work by its arrival. */
  private final Map<Object, String> waiting = new LinkedHashMap<>();

  private int running;

  /**
   * @param most maximum number of places
   * @param mostOfOwner maximum number of places of one owner
   */
  OwnerPlaces(int most, int mostOfOwner) {
    this.most = most;
    this.mostOfOwner = mostOfOwner;
  }

  /** Waits for a place. */
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

  /** Takes a place, unless there is none for the owner. */
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
    return ofOwner.getOrDefault(owner, 0) < mostOfOwner;
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

  /** True if work waits that gets the place of an owner when that is freed. */
  synchronized boolean wanted(String owner) {
    return waiting.values().stream().anyMatch(each -> each.equals(owner) || mayEnter(each));
  }

  /** Frees a place. */
  synchronized void leave(String owner) {
    running--;
    ofOwner.computeIfPresent(owner, (_, places) -> places == 1 ? null : places - 1);
    notifyAll();
  }
}

package io.pointsman.batch;

import java.util.HashMap;
import java.util.Map;

/**
 * The room of the store in bytes: files, results, and uploads in progress, of each owner and of all
 * together. It has an entry for each owner that stores something. Any thread can call it.
 */
final class StoreRoom {
  private final Map<String, Long> ofOwner = new HashMap<>();
  private long all;

  /** Bytes of all owners. */
  synchronized long used() {
    return all;
  }

  /** Bytes of an owner. */
  synchronized long used(String owner) {
    return ofOwner.getOrDefault(owner, 0L);
  }

  /** Takes room in any case. */
  synchronized void take(String owner, long bytes) {
    all += bytes;
    ofOwner.compute(
        owner,
        (_, used) -> {
          long sum = (used == null ? 0 : used) + bytes;
          return sum == 0 ? null : sum;
        });
  }

  /**
   * Takes room, unless there is too little.
   *
   * @param most maximum of all owners in bytes
   * @param mostOfOwner maximum of this owner in bytes
   */
  synchronized boolean take(String owner, long bytes, long most, long mostOfOwner) {
    boolean fits = all + bytes <= most && used(owner) + bytes <= mostOfOwner;
    if (fits) {
      take(owner, bytes);
    }
    return fits;
  }

  /** Gives room back. */
  void release(String owner, long bytes) {
    take(owner, -bytes);
  }
}

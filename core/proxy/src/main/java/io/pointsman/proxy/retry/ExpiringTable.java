package io.pointsman.proxy.retry;

import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Table of a bounded number of entries, each of which expires some time after its last change. The
 * oldest entry leaves first. Not thread-safe, except {@link #isEmpty}.
 */
final class ExpiringTable<V> {
  private record Entry<V>(V value, long until) {}

  private final int most;
  private final long ttlNanos;

  /** In the order of the last change, which is the order of expiry. */
  private final LinkedHashMap<Long, Entry<V>> entries = new LinkedHashMap<>();

  private volatile boolean empty = true;

  ExpiringTable(int most, long ttlNanos) {
    this.most = most;
    this.ttlNanos = ttlNanos;
  }

  /** Returns true if there was no entry after the last change. */
  boolean isEmpty() {
    return empty;
  }

  @Nullable V get(long key, long now) {
    expire(now);
    Entry<V> found = entries.get(key);
    return found == null ? null : found.value;
  }

  void put(long key, V value, long now) {
    expire(now);
    entries.remove(key);
    entries.put(key, new Entry<>(value, now + ttlNanos));
    if (entries.size() > most) {
      entries.pollFirstEntry();
    }
    empty = entries.isEmpty();
  }

  void remove(long key) {
    entries.remove(key);
    empty = entries.isEmpty();
  }

  private void expire(long now) {
    Iterator<Map.Entry<Long, Entry<V>>> oldest = entries.entrySet().iterator();
    while (oldest.hasNext() && now - oldest.next().getValue().until >= 0) {
      oldest.remove();
    }
    empty = entries.isEmpty();
  }
}

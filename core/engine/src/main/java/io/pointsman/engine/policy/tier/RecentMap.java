package io.pointsman.engine.policy.tier;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.jspecify.annotations.Nullable;

/**
 * A bounded map that evicts by second chance. Entries form a queue. An entry read since its last
 * visit goes back to the end of the queue, so a read moves nothing. Reading takes no lock; adding
 * takes a short one.
 */
final class RecentMap<K, V> {
  /** Maximum number of entries spared in one eviction. */
  private static final int MOST_CHANCES = 8;

  private final int most;
  private final ConcurrentMap<K, Node<V>> nodes = new ConcurrentHashMap<>();

  /** Guarded by this: all keys once. */
  private final Deque<K> line = new ArrayDeque<>();

  private static final class Node<V> {
    private final V value;

    /**
     * True if it was read since its last visit. Many threads write it; lost writes are harmless.
     */
    private volatile boolean read;

    Node(V value) {
      this.value = value;
    }
  }

  /**
   * @param most maximum number of entries; at least 1
   */
  RecentMap(int most) {
    this.most = most;
  }

  /** Returns the value of a key; null if there is none. */
  @Nullable V get(K key) {
    Node<V> node = nodes.get(key);
    if (node == null) {
      return null;
    }
    if (!node.read) {
      node.read = true;
    }
    return node.value;
  }

  /** Adds or replaces a value; may evict another. */
  synchronized void put(K key, V value) {
    if (nodes.put(key, new Node<>(value)) == null) {
      if (line.size() >= most) {
        evict();
      }
      line.addLast(key);
    }
  }

  private void evict() {
    K eldest = line.removeFirst();
    for (int chance = 0; chance < MOST_CHANCES && wasRead(eldest); chance++) {
      line.addLast(eldest);
      eldest = line.removeFirst();
    }
    nodes.remove(eldest);
  }

  private boolean wasRead(K key) {
    Node<V> node = nodes.get(key);
    if (node == null || !node.read) {
      return false;
    }
    node.read = false;
    return true;
  }

  int size() {
    return nodes.size();
  }
}

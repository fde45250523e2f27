package io.pointsman.engine.policy.tier;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.jspecify.annotations.Nullable;

/**
 * A bounded map. What was not read for long gives way: entries stand in line, and one that was read
 * since it came to the end of the line goes back to its beginning (second chance), so that nothing
 * has to be moved when it is read. Reading takes no lock; adding takes a short one.
 */
final class RecentMap<K, V> {
  /** Entries that are let off before one has to go, however many were read. */
  private static final int MOST_CHANCES = 8;

  private final int most;
  private final ConcurrentMap<K, Node<V>> nodes = new ConcurrentHashMap<>();

  /** Guarded by this: all keys once. */
  private final Deque<K> line = new ArrayDeque<>();

  private static final class Node<V> {
    private final V value;

    /** Whether it was read since it was last looked at. Written by many, lost writes do no harm. */
    private volatile boolean read;

    Node(V value) {
      this.value = value;
    }
  }

  /**
   * @param most entries; at least 1
   */
  RecentMap(int most) {
    this.most = most;
  }

  /** The value of a key; null if there is none. */
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

  /** Adds or replaces a value; another one may have to go. */
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

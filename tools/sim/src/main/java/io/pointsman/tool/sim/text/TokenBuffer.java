package io.pointsman.tool.sim.text;

import java.util.Arrays;

/** A growing array of token ids. */
final class TokenBuffer {
  private int[] ids;
  private int size;

  TokenBuffer(int capacity) {
    ids = new int[Math.max(8, capacity)];
  }

  void add(int id) {
    if (size == ids.length) {
      ids = Arrays.copyOf(ids, size * 2);
    }
    ids[size++] = id;
  }

  int[] toArray() {
    return Arrays.copyOf(ids, size);
  }
}

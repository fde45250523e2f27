package io.pointsman.request.json;

import io.pointsman.engine.prefix.PrefixBlocks;
import java.util.Arrays;

/**
 * Block hashes in the order they were met; scratch memory that is used again for every request. At
 * most {@link #MAX}: what comes later is left out, so that a routing key covers the first 8 MiB of
 * text or 2 M token ids.
 */
public final class BlockRun {
  /** The most blocks kept. */
  public static final int MAX = 1 << 17;

  private long[] hashes = new long[1024];
  private int count;
  private int lastLength;

  public int count() {
    return count;
  }

  /** Length of the block added last, in bytes or ids. */
  public int lastLength() {
    return lastLength;
  }

  /** Forgets all blocks from the {@code count}th on. */
  public void truncate(int count) {
    this.count = count;
  }

  /** Adds a full block of text. */
  void add(long hash) {
    if (count == hashes.length && !grow()) {
      return;
    }
    hashes[count++] = hash;
  }

  /** Adds full blocks of text, one behind the other; all must lie inside the array. */
  void addBlocks(byte[] bytes, int from, int blocks) {
    while (count + blocks > hashes.length && grow()) {
      // Grown until it fits, or until no more is kept.
    }
    long[] target = hashes;
    int first = count;
    int fitting = Math.min(blocks, target.length - first);
    for (int i = 0; i < fitting; i++) {
      target[first + i] = BlockHash.block(bytes, from + i * BlockHash.BLOCK);
    }
    count = first + fitting;
  }

  /** Adds a block of a given length, in bytes or ids. */
  public void add(long hash, int length) {
    add(hash);
    lastLength = length;
  }

  /** Says that the block added last was a full one of text. */
  void endOnFullBlock() {
    lastLength = BlockHash.BLOCK;
  }

  /**
   * Adds blocks that stand for something of which only the hash is known, as many as its size is
   * worth.
   */
  public void addWeighted(long hash, long size) {
    long blocks = Math.min(MAX, 1 + size / BlockHash.BLOCK);
    for (long i = 0; i < blocks; i++) {
      add(PrefixBlocks.mix(hash), BlockHash.BLOCK);
    }
  }

  /** Takes one more value into the block at {@code index}; without effect if it is left out. */
  public void stamp(int index, long value) {
    if (index < count) {
      hashes[index] ^= PrefixBlocks.mix(value);
    }
  }

  /** The hash of all blocks, which are taken out. */
  long fold() {
    long hash = 0;
    for (int i = 0; i < count; i++) {
      hash = BlockHash.fold(hash, hashes[i]);
    }
    count = 0;
    return hash;
  }

  /** Copies blocks out. */
  public void copyTo(int from, long[] target, int at, int length) {
    System.arraycopy(hashes, from, target, at, length);
  }

  private boolean grow() {
    if (hashes.length == MAX) {
      return false;
    }
    hashes = Arrays.copyOf(hashes, Math.min(MAX, 2 * hashes.length));
    return true;
  }
}

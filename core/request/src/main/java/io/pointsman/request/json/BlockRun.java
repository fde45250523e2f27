package io.pointsman.request.json;

import io.pointsman.engine.prefix.PrefixBlocks;
import java.util.Arrays;

/**
 * Block hashes in order of arrival, in scratch memory that all requests reuse. It keeps at most
 * {@link #MAX} hashes and ignores the rest. A routing key therefore covers the first 8 MiB of text
 * or 2 M token ids. One thread.
 */
public final class BlockRun {
  /** Maximum number of blocks. */
  public static final int MAX = 1 << 17;

  private long[] hashes = new long[1024];
  private int count;
  private int lastLength;

  public int count() {
    return count;
  }

  /** Length of the last block, in bytes or ids. */
  public int lastLength() {
    return lastLength;
  }

  /** Removes all blocks from index {@code count} on. */
  public void truncate(int count) {
    this.count = count;
  }

  /** Adds a full block of text. Follow the last one with {@link #endOnFullBlock}. */
  void add(long hash) {
    if (count == hashes.length && !grow()) {
      return;
    }
    hashes[count++] = hash;
  }

  /** Adds adjacent full blocks of text. All must be inside the array. */
  void addBlocks(byte[] bytes, int from, int blocks) {
    while (count + blocks > hashes.length && grow()) {
      // Grows until the blocks fit or the maximum is reached.
    }
    long[] target = hashes;
    int first = count;
    int fitting = Math.min(blocks, target.length - first);
    for (int i = 0; i < fitting; i++) {
      target[first + i] = BlockHash.block(bytes, from + i * BlockHash.BLOCK);
    }
    count = first + fitting;
  }

  /** Adds a block with its length in bytes or ids. */
  public void add(long hash, int length) {
    add(hash);
    lastLength = length;
  }

  /** Sets the length of the last block to that of a full block of text. */
  void endOnFullBlock() {
    lastLength = BlockHash.BLOCK;
  }

  /**
   * Adds blocks for a value that has only a hash: one, and one more for each 64 bytes of {@code
   * size}.
   */
  public void addWeighted(long hash, long size) {
    long blocks = Math.min(MAX, 1 + size / BlockHash.BLOCK);
    for (long i = 0; i < blocks; i++) {
      add(PrefixBlocks.mix(hash), BlockHash.BLOCK);
    }
  }

  /** Combines the block at {@code index} with a value. No effect if the block was not kept. */
  public void stamp(int index, long value) {
    if (index < count) {
      hashes[index] ^= PrefixBlocks.mix(value);
    }
  }

  /** Hash of all blocks. Removes them. */
  long fold() {
    long hash = 0;
    for (int i = 0; i < count; i++) {
      hash = BlockHash.fold(hash, hashes[i]);
    }
    count = 0;
    return hash;
  }

  /** Copies {@code length} blocks from index {@code from} to {@code target} at index {@code at}. */
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

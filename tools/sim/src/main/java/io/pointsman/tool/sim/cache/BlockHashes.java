package io.pointsman.tool.sim.cache;

/**
 * Chained 64-bit hashes of the complete blocks of a token sequence. Block {@code i} has equal
 * hashes in two sequences if salt and all tokens up to its end are equal. Otherwise the hashes
 * differ, except for collisions.
 */
public final class BlockHashes {
  private BlockHashes() {}

  /**
   * Hashes the complete blocks of {@code tokens}; a trailing partial block has no hash.
   *
   * @param blockSize tokens per block, at least 1
   * @param salt further data that must be equal, for example model and cache salt
   * @return one hash per complete block, in order
   */
  public static long[] of(int[] tokens, int blockSize, long salt) {
    long[] hashes = new long[tokens.length / blockSize];
    long chain = mix(salt ^ 0x9E3779B97F4A7C15L);
    int next = 0;
    for (int block = 0; block < hashes.length; block++) {
      for (int i = 0; i < blockSize; i++) {
        chain = mix(chain * 31 + tokens[next++]);
      }
      hashes[block] = chain;
    }
    return hashes;
  }

  /** The finaliser of SplitMix64 (Steele, Lea, Flood, 2014): a bijection of 64 bits. */
  public static long mix(long value) {
    long z = (value ^ (value >>> 30)) * 0xBF58476D1CE4E5B9L;
    z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
    return z ^ (z >>> 31);
  }
}

package io.pointsman.tool.replay.run;

import io.pointsman.tool.replay.trace.TraceRequest;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * One cache as large as those of all engines together, with LRU eviction, over the prompts in the
 * order of arrival. No placement on several engines is expected to find more.
 */
final class MergedCache {
  private final int blockTokens;
  private final long capacity;

  /** Tokens of each block, from the least to the most recently used. */
  private final LinkedHashMap<Long, Integer> blocks = new LinkedHashMap<>(1024, 0.75f, true);

  private long storedTokens;
  private long asked;
  private long found;

  /**
   * @param blockTokens prompt tokens per block of the trace
   * @param capacity in tokens
   */
  MergedCache(int blockTokens, long capacity) {
    this.blockTokens = blockTokens;
    this.capacity = capacity;
  }

  /** Looks up a prompt, then adds it to the cache. */
  void take(TraceRequest request) {
    long[] hashes = request.blocks();
    int hits = 0;
    while (hits < hashes.length && blocks.containsKey(hashes[hits])) {
      hits++;
    }
    asked += request.inputTokens();
    found += Math.min((long) hits * blockTokens, request.inputTokens() - 1);
    // The end of a prompt is evicted before its beginning.
    for (int i = hashes.length - 1; i >= 0; i--) {
      int tokens = Math.clamp(request.inputTokens() - (long) i * blockTokens, 0, blockTokens);
      Integer before = blocks.put(hashes[i], tokens);
      storedTokens += tokens - (before == null ? 0 : before);
    }
    evict();
  }

  private void evict() {
    Iterator<Map.Entry<Long, Integer>> oldest = blocks.entrySet().iterator();
    while (storedTokens > capacity && oldest.hasNext()) {
      storedTokens -= oldest.next().getValue();
      oldest.remove();
    }
  }

  /** Share of all prompt tokens that it found. */
  double hit() {
    return asked == 0 ? 0 : (double) found / asked;
  }
}

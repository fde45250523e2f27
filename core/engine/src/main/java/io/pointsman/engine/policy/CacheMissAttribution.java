package io.pointsman.engine.policy;

import java.util.Arrays;
import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;

/**
 * Sums of prompt tokens of successful requests since the start: expected in a cache, found there,
 * and lost by reason. Any thread may add and read.
 */
public final class CacheMissAttribution {
  private final Map<CacheMiss, LongAdder> hits = adders();
  private final Map<CacheMiss, LongAdder> tokens = adders();
  private final LongAdder prompt = new LongAdder();
  private final LongAdder expected = new LongAdder();
  private final LongAdder cached = new LongAdder();

  private static Map<CacheMiss, LongAdder> adders() {
    Map<CacheMiss, LongAdder> made = new EnumMap<>(CacheMiss.class);
    Arrays.stream(CacheMiss.values()).forEach(reason -> made.put(reason, new LongAdder()));
    return made;
  }

  /**
   * Counts one request.
   *
   * @param promptTokens all tokens of its prompt
   * @param expectedTokens prompt tokens expected in its worker's cache
   * @param cachedTokens prompt tokens found; {@code expectedTokens} if not reported
   */
  public void add(int promptTokens, int expectedTokens, int cachedTokens) {
    prompt.add(promptTokens);
    expected.add(expectedTokens);
    cached.add(cachedTokens);
  }

  /** Counts tokens of one request that were lost for one reason. */
  public void lost(CacheMiss reason, int lostTokens) {
    of(hits, reason).increment();
    of(tokens, reason).add(lostTokens);
  }

  private static LongAdder of(Map<CacheMiss, LongAdder> adders, CacheMiss reason) {
    LongAdder adder = adders.get(reason);
    if (adder == null) {
      throw new IllegalStateException(reason + " has no sum");
    }
    return adder;
  }

  /** Requests that lost tokens for {@code reason}. */
  public long hits(CacheMiss reason) {
    return of(hits, reason).sum();
  }

  /** Prompt tokens lost for {@code reason}. */
  public long tokens(CacheMiss reason) {
    return of(tokens, reason).sum();
  }

  /** Prompt tokens of all requests. */
  public long promptTokens() {
    return prompt.sum();
  }

  /** Prompt tokens expected in caches. */
  public long expectedTokens() {
    return expected.sum();
  }

  /** Prompt tokens found in caches. */
  public long cachedTokens() {
    return cached.sum();
  }
}

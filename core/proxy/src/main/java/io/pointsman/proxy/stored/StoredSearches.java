package io.pointsman.proxy.stored;

import io.pointsman.engine.env.Ticker;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Limit on searches for stored responses of unknown workers. A search asks one worker after
 * another, so a client with random ids could multiply its requests. Searches are limited per second
 * and in progress. An id that no worker has is remembered for a while. Thread-safe.
 */
public final class StoredSearches {
  /** Reason to start a search, or to refuse it. */
  public enum Verdict {
    BEGUN,
    /** No worker had the response a short time ago. */
    MISSING,
    /** Too many searches. */
    LIMITED
  }

  /** Time for which an unknown id is remembered. */
  public static final Duration MEMORY = Duration.ofSeconds(10);

  /** Maximum number of remembered ids. */
  static final int MOST_IDS = 10_000;

  private static final double NANOS = 1e9;

  private int perSecond;
  private final Ticker ticker;

  /** Hashes of ids that no worker has, with the time until which that counts; oldest first. */
  private final Map<String, Long> missing =
      new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Long> eldest) {
          return size() > MOST_IDS;
        }
      };

  private double tokens;
  private long filledAt;
  private int running;

  /**
   * @param perSecond maximum number of searches per second, and of searches in progress
   */
  public StoredSearches(int perSecond, Ticker ticker) {
    this.perSecond = perSecond;
    this.ticker = ticker;
    tokens = perSecond;
    filledAt = ticker.nanos();
  }

  /** Replaces the maximum number per second and in progress; searches in progress stay. */
  public synchronized void limit(int next) {
    perSecond = next;
  }

  /** Starts a search, if the limits permit. {@link #end} must follow if it has begun. */
  public synchronized Verdict begin(String id) {
    long now = ticker.nanos();
    Long until = missing.get(hash(id));
    if (until != null && until - now > 0) {
      return Verdict.MISSING;
    }
    tokens = Math.min(perSecond, tokens + perSecond * ((now - filledAt) / NANOS));
    filledAt = now;
    if (tokens < 1 || running >= perSecond) {
      return Verdict.LIMITED;
    }
    tokens--;
    running++;
    return Verdict.BEGUN;
  }

  /** Reports the end of a search. */
  public synchronized void end() {
    running--;
  }

  /** Records that no worker has the response. */
  public synchronized void missing(String id) {
    String hash = hash(id);
    missing.remove(hash);
    missing.put(hash, ticker.nanos() + MEMORY.toNanos());
  }

  /** Records that a worker has the response. */
  public synchronized void exists(String id) {
    if (!missing.isEmpty()) {
      missing.remove(hash(id));
    }
  }

  /** Ids of any length take the same memory. */
  private static String hash(String id) {
    try {
      byte[] digest =
          MessageDigest.getInstance("SHA-256").digest(id.getBytes(StandardCharsets.UTF_8));
      return HexFormat.of().formatHex(digest, 0, 16);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JDK has SHA-256", e);
    }
  }
}

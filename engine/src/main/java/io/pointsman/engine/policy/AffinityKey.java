package io.pointsman.engine.policy;

/**
 * What a request says of whom it belongs to.
 *
 * @param kind how long the identity lasts
 * @param source where it was found, such as {@code header:x-session-id} or {@code body:user}; part
 *     of the identity, so that equal values from different places stay apart
 * @param value the identity itself, not empty
 */
public record AffinityKey(Kind kind, String source, String value) {
  /** How long an identity lasts. */
  public enum Kind {
    /** A session, a user, an agent's run: many requests. May open a sticky session. */
    SESSION,
    /**
     * A request or trace id, new with each request. Spreads by hash, never opens a sticky session.
     */
    REQUEST
  }

  /** A 64-bit hash of source and value: FNV-1a over their characters. */
  public long hash() {
    return fnv(hash(source) * 31, value);
  }

  /** A 64-bit hash of {@code text}: FNV-1a over its characters. */
  public static long hash(String text) {
    return fnv(0xCBF29CE484222325L, text);
  }

  private static long fnv(long seed, String text) {
    long hash = seed;
    for (int i = 0; i < text.length(); i++) {
      hash = (hash ^ text.charAt(i)) * 0x100000001B3L;
    }
    return hash;
  }
}

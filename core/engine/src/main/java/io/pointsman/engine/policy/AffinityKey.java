package io.pointsman.engine.policy;

/**
 * The identity that a request belongs to.
 *
 * @param kind lifetime of the identity
 * @param source origin, for example {@code header:x-session-id} or {@code body:user}. It is part of
 *     the identity, so equal values from different sources differ.
 * @param value the identity, not empty
 */
public record AffinityKey(Kind kind, String source, String value) {
  /** Lifetime of an identity. */
  public enum Kind {
    /** A session, a user or an agent's run, with many requests. May open a sticky session. */
    SESSION,
    /**
     * A request or trace id, new with each request. Used for hashing; never opens a sticky session.
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

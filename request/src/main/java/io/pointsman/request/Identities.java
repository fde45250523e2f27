package io.pointsman.request;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.pointsman.engine.policy.AffinityKey;
import io.pointsman.request.json.JsonText;

/** Makes affinity keys of what was found. */
final class Identities {
  /** The longest identity kept as it came, in characters. */
  static final int MAX_LENGTH = 256;

  private Identities() {}

  /** A key of at most {@link #MAX_LENGTH} characters: a longer value is replaced by its hash. */
  static AffinityKey key(AffinityKey.Kind kind, String source, String value) {
    return new AffinityKey(kind, source, value.length() <= MAX_LENGTH ? value : shorten(value));
  }

  private static String shorten(String value) {
    byte[] bytes = value.getBytes(UTF_8);
    return JsonText.fingerprint(bytes, 0, bytes.length);
  }
}

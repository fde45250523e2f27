package io.pointsman.request;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.pointsman.engine.policy.AffinityKey;
import io.pointsman.request.json.JsonText;

/** Factory of affinity keys. */
final class Identities {
  /** Maximum length in characters of an identity that is kept unchanged. */
  static final int MAX_LENGTH = 256;

  private Identities() {}

  /**
   * An affinity key. A value longer than {@link #MAX_LENGTH} characters is replaced by its length
   * and hash.
   */
  static AffinityKey key(AffinityKey.Kind kind, String source, String value) {
    return new AffinityKey(kind, source, value.length() <= MAX_LENGTH ? value : shorten(value));
  }

  private static String shorten(String value) {
    byte[] bytes = value.getBytes(UTF_8);
    return JsonText.fingerprint(bytes, 0, bytes.length);
  }
}

package io.pointsman.engine.choice;

import io.pointsman.engine.env.RandomSource;

/**
 * Text form of the router's lease ids: the index of its entry in base 62, a hyphen, and a secret of
 * more than 128 bits.
 */
final class ExternalLeaseIds {
  private static final String DIGITS =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

  private static final int BASE = 62;

  /** Digits of an entry; enough for the largest table. */
  private static final int MOST_PLACE_DIGITS = 4;

  /** 62^22 is more than 2^130. */
  private static final int SECRET_DIGITS = 22;

  /** Digits per random number: 62^2 is a small bound, so all numbers are equally likely. */
  private static final int DIGITS_PER_ROLL = 2;

  /** Length of the longest id. */
  static final int LONGEST = MOST_PLACE_DIGITS + 1 + SECRET_DIGITS;

  /** The result for a text that is no id. */
  static final int NONE = -1;

  private ExternalLeaseIds() {}

  /** A new secret. */
  static String secret(RandomSource random) {
    StringBuilder secret = new StringBuilder(SECRET_DIGITS);
    for (int i = 0; i < SECRET_DIGITS; i += DIGITS_PER_ROLL) {
      int roll = random.roll(BASE * BASE);
      secret.append(DIGITS.charAt(roll / BASE)).append(DIGITS.charAt(roll % BASE));
    }
    return secret.toString();
  }

  static String format(int entry, String secret) {
    StringBuilder id = new StringBuilder(LONGEST);
    for (int left = entry; left > 0 || id.isEmpty(); left /= BASE) {
      id.insert(0, DIGITS.charAt(left % BASE));
    }
    return id.append('-').append(secret).toString();
  }

  /** Returns the index of the entry in an id, or {@link #NONE}. */
  static int entry(String id) {
    int hyphen = id.indexOf('-');
    if (hyphen < 1 || hyphen > MOST_PLACE_DIGITS || id.length() > LONGEST) {
      return NONE;
    }
    int entry = 0;
    for (int i = 0; i < hyphen; i++) {
      int digit = DIGITS.indexOf(id.charAt(i));
      if (digit < 0) {
        return NONE;
      }
      entry = entry * BASE + digit;
    }
    return entry;
  }

  /** Returns the secret in an id. */
  static String secret(String id) {
    return id.substring(id.indexOf('-') + 1);
  }
}

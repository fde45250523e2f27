package io.pointsman.engine.choice;

/** Text form of the router's lease ids: two numbers in base 36, joined by a hyphen. */
final class ExternalLeaseIds {
  private static final int BASE = 36;

  /** Maximum length: two longs of at most 13 digits each, and the hyphen. */
  static final int LONGEST = 27;

  /** The result for an invalid number; no id contains it. */
  static final long NONE = -1;

  private ExternalLeaseIds() {}

  static String format(long sequence, long nonce) {
    return Long.toString(sequence, BASE) + "-" + Long.toString(nonce, BASE);
  }

  /** Returns the first number of an id, or {@link #NONE}. */
  static long sequence(String id) {
    int hyphen = id.indexOf('-');
    return hyphen < 0 || id.length() > LONGEST ? NONE : number(id.substring(0, hyphen));
  }

  /** Returns the second number of an id, or {@link #NONE}. */
  static long nonce(String id) {
    return number(id.substring(id.indexOf('-') + 1));
  }

  private static long number(String digits) {
    try {
      return Math.max(Long.parseLong(digits, BASE), NONE);
    } catch (NumberFormatException e) {
      return NONE;
    }
  }
}

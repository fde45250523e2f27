package io.pointsman.engine.choice;

/** Ids of held leases as text: two numbers in base 36, joined by a hyphen. */
final class HeldIds {
  private static final int BASE = 36;

  /** Two longs of at most 13 digits each. */
  static final int LONGEST = 27;

  /** Stands for a number that is none; no id has it. */
  static final long NONE = -1;

  private HeldIds() {}

  static String format(long sequence, long nonce) {
    return Long.toString(sequence, BASE) + "-" + Long.toString(nonce, BASE);
  }

  /** The first number of an id, or {@link #NONE}. */
  static long sequence(String id) {
    int hyphen = id.indexOf('-');
    return hyphen < 0 || id.length() > LONGEST ? NONE : number(id.substring(0, hyphen));
  }

  /** The second number of an id, or {@link #NONE}. */
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

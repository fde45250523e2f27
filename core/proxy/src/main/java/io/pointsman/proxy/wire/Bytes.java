package io.pointsman.proxy.wire;

/** Functions on ASCII in byte arrays. */
final class Bytes {
  private static final boolean[] TOKEN = new boolean[128];

  static {
    for (char c = '0'; c <= '9'; c++) {
      TOKEN[c] = true;
    }
    for (char c = 'a'; c <= 'z'; c++) {
      TOKEN[c] = true;
      TOKEN[c - 32] = true;
    }
    for (char c : "!#$%&'*+-.^_`|~".toCharArray()) {
      TOKEN[c] = true;
    }
  }

  private Bytes() {}

  /** True if {@code b} is valid in a header's name (RFC 9110, tchar). */
  static boolean token(byte b) {
    return b >= 0 && TOKEN[b];
  }

  /** True if {@code bytes[from, to)} equals {@code lowerCase}, ignoring case. */
  static boolean is(byte[] bytes, int from, int to, String lowerCase) {
    if (to - from != lowerCase.length()) {
      return false;
    }
    for (int i = 0; i < lowerCase.length(); i++) {
      if (lower(bytes[from + i]) != lowerCase.charAt(i)) {
        return false;
      }
    }
    return true;
  }

  /** True if {@code bytes[from, to)} begins with {@code lowerCase}, ignoring case. */
  static boolean begins(byte[] bytes, int from, int to, String lowerCase) {
    int end = from + lowerCase.length();
    return end <= to && is(bytes, from, end, lowerCase);
  }

  /** True if {@code bytes[from, to)} equals {@code text}. */
  static boolean exactly(byte[] bytes, int from, int to, String text) {
    if (to - from != text.length()) {
      return false;
    }
    for (int i = 0; i < text.length(); i++) {
      if (bytes[from + i] != text.charAt(i)) {
        return false;
      }
    }
    return true;
  }

  /** True if {@code bytes[from, to)} equals {@code bytes[from2, to2)}, ignoring case. */
  static boolean same(byte[] bytes, int from, int to, int from2, int to2) {
    if (to - from != to2 - from2) {
      return false;
    }
    for (int i = 0; i < to - from; i++) {
      if (lower(bytes[from + i]) != lower(bytes[from2 + i])) {
        return false;
      }
    }
    return true;
  }

  /** True if {@code b} is white space that may surround a value. */
  static boolean blank(byte b) {
    return b == ' ' || b == '\t';
  }

  static int lower(byte b) {
    return b >= 'A' && b <= 'Z' ? b + 32 : b;
  }

  /** Value of a hexadecimal digit; -1 for any other byte. */
  static int hex(byte b) {
    if (b >= '0' && b <= '9') {
      return b - '0';
    }
    int letter = b | 0x20;
    return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
  }

  /**
   * Value of {@code bytes[from, to)} as a decimal number of at most 18 digits; -1 if it is none.
   */
  static long decimal(byte[] bytes, int from, int to) {
    if (from >= to || to - from > 18) {
      return -1;
    }
    long value = 0;
    for (int i = from; i < to; i++) {
      int digit = bytes[i] - '0';
      if (digit < 0 || digit > 9) {
        return -1;
      }
      value = value * 10 + digit;
    }
    return value;
  }
}

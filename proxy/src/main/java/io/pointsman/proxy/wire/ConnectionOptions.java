package io.pointsman.proxy.wire;

import java.util.Arrays;

/**
 * What a client's {@code Connection} headers say, read once for each head (RFC 9110, 7.6.1):
 * whether to keep the connection, and which other headers are this hop's only.
 */
final class ConnectionOptions {
  private static final int[] NO_NAMES = {};

  /** Of a head without such a header. */
  static final ConnectionOptions NONE = new ConnectionOptions(new byte[0]);

  /** More than anybody names. Each is compared with every header that would travel on. */
  static final int MOST_NAMES = 32;

  private final byte[] head;
  private int[] names = NO_NAMES;
  private boolean close;
  private boolean keepAlive;
  private boolean tooMany;

  /**
   * Without options so far.
   *
   * @param head where they stand
   */
  ConnectionOptions(byte[] head) {
    this.head = head;
  }

  /** Adds the options of one header, whose value is {@code head[from, to)}. */
  void add(int from, int to) {
    int start = from;
    for (int i = from; i <= to; i++) {
      if (i == to || head[i] == ',') {
        addOne(start, i);
        start = i + 1;
      }
    }
  }

  private void addOne(int start, int end) {
    int from = start;
    int to = end;
    while (from < to && Bytes.blank(head[from])) {
      from++;
    }
    while (from < to && Bytes.blank(head[to - 1])) {
      to--;
    }
    if (Bytes.is(head, from, to, "close")) {
      close = true;
    } else if (Bytes.is(head, from, to, "keep-alive")) {
      keepAlive = true;
    } else if (from < to) {
      addName(from, to);
    }
  }

  private void addName(int from, int to) {
    int length = names.length;
    if (length == 2 * MOST_NAMES) {
      tooMany = true;
      return;
    }
    names = Arrays.copyOf(names, length + 2);
    names[length] = from;
    names[length + 1] = to;
  }

  boolean close() {
    return close;
  }

  boolean keepAlive() {
    return keepAlive;
  }

  /** Whether more than {@link #MOST_NAMES} headers are named, so that some are not known. */
  boolean tooMany() {
    return tooMany;
  }

  /** Whether any header is named. */
  boolean nameHeaders() {
    return names.length > 0;
  }

  /** Whether the header is named whose name is {@code head[from, to)}. */
  boolean name(int from, int to) {
    for (int i = 0; i < names.length; i += 2) {
      if (Bytes.same(head, from, to, names[i], names[i + 1])) {
        return true;
      }
    }
    return false;
  }
}

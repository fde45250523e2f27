package io.pointsman.proxy.wire;

import java.util.Arrays;

/**
 * The options of a client's {@code Connection} headers, read once per head (RFC 9110, 7.6.1). They
 * state if the connection is kept, and name the headers of this hop.
 */
final class ConnectionOptions {
  private static final int[] NO_NAMES = {};

  /** Options of a head without such a header. */
  static final ConnectionOptions NONE = new ConnectionOptions(new byte[0]);

  /**
   * Maximum number of named headers, more than any client sends. Each is compared with every
   * forwarded header.
   */
  static final int MOST_NAMES = 32;

  private final byte[] head;
  private int[] names = NO_NAMES;
  private boolean close;
  private boolean keepAlive;
  private boolean tooMany;

  /**
   * Empty options.
   *
   * @param head bytes of the head
   */
  ConnectionOptions(byte[] head) {
    this.head = head;
  }

  /** Adds the options of one header with the value {@code head[from, to)}. */
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

  /** True if more than {@link #MOST_NAMES} headers are named; the list is then incomplete. */
  boolean tooMany() {
    return tooMany;
  }

  /** True if at least one header is named. */
  boolean nameHeaders() {
    return names.length > 0;
  }

  /** True if the header with the name {@code head[from, to)} is named. */
  boolean name(int from, int to) {
    for (int i = 0; i < names.length; i += 2) {
      if (Bytes.same(head, from, to, names[i], names[i + 1])) {
        return true;
      }
    }
    return false;
  }
}

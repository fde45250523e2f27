package io.pointsman.proxy.relay;

/**
 * Counter of the events of a stream, by the starts of lines with data. One event has one such line
 * in the streams of engines. The bytes may be split anywhere.
 */
final class EventCounter {
  private boolean lineStarts = true;
  private long count;

  /**
   * Reads the next bytes.
   *
   * @param to index after the last byte
   */
  void read(byte[] bytes, int from, int to) {
    boolean starts = lineStarts;
    for (int i = from; i < to; i++) {
      byte b = bytes[i];
      if (starts && b == 'd') {
        count++;
      }
      starts = b == '\n' || b == '\r';
    }
    lineStarts = starts;
  }

  long count() {
    return count;
  }
}

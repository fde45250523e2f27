package io.pointsman.plane.haproxy;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.OutputStream;
import java.util.Arrays;

/** Buffers SPOE frames. Used by one thread at a time. */
final class SpoeWriter {
  private static final int LARGEST_ONE_BYTE = 240;
  private static final int WHOLE_FRAME = 1;
  private static final int UINT32 = 3;
  private static final int STRING = 8;
  private static final int SET_VARIABLE = 1;
  private static final int OF_TRANSACTION = 2;
  private static final int PARTS_OF_SETTING = 3;

  private byte[] bytes = new byte[1024];
  private int size;
  private int frame;

  /** Begins an unfragmented frame. */
  SpoeWriter begin(int type, long stream, long id) {
    frame = size;
    return word(0).octet(type).word(WHOLE_FRAME).number(stream).number(id);
  }

  /** Ends the frame and writes its length. */
  void end() {
    int length = length();
    for (int i = 0; i < Integer.BYTES; i++) {
      bytes[frame + i] = (byte) (length >>> (24 - 8 * i));
    }
  }

  /** Bytes of the current frame, without its length field. */
  int length() {
    return size - frame - Integer.BYTES;
  }

  /** Discards the current frame. */
  void drop() {
    size = frame;
  }

  SpoeWriter octet(int value) {
    if (size == bytes.length) {
      bytes = Arrays.copyOf(bytes, 2 * size);
    }
    bytes[size++] = (byte) value;
    return this;
  }

  private SpoeWriter word(int value) {
    return octet(value >>> 24).octet(value >>> 16).octet(value >>> 8).octet(value);
  }

  /** Writes an unsigned number as 1 to 10 bytes. */
  SpoeWriter number(long value) {
    if (Long.compareUnsigned(value, LARGEST_ONE_BYTE) < 0) {
      return octet((int) value);
    }
    octet((int) value | 0xf0);
    long rest = (value - LARGEST_ONE_BYTE) >>> 4;
    while (Long.compareUnsigned(rest, 128) >= 0) {
      octet((int) rest | 0x80);
      rest = (rest - 128) >>> 7;
    }
    return octet((int) rest);
  }

  SpoeWriter text(String text) {
    byte[] encoded = text.getBytes(UTF_8);
    number(encoded.length);
    while (size + encoded.length > bytes.length) {
      bytes = Arrays.copyOf(bytes, 2 * bytes.length);
    }
    System.arraycopy(encoded, 0, bytes, size, encoded.length);
    size += encoded.length;
    return this;
  }

  /** Writes a named text. */
  SpoeWriter entry(String name, String value) {
    return text(name).octet(STRING).text(value);
  }

  /** Writes a named number. */
  SpoeWriter entry(String name, long value) {
    return text(name).octet(UINT32).number(value);
  }

  /** Writes an action that sets a variable of the transaction. */
  SpoeWriter set(String name, String value) {
    return setting().entry(name, value);
  }

  SpoeWriter set(String name, long value) {
    return setting().entry(name, value);
  }

  private SpoeWriter setting() {
    return octet(SET_VARIABLE).octet(PARTS_OF_SETTING).octet(OF_TRANSACTION);
  }

  int size() {
    return size;
  }

  /** Writes the buffered frames to the stream and clears the buffer. */
  void flushTo(OutputStream out) throws IOException {
    out.write(bytes, 0, size);
    out.flush();
    size = 0;
  }
}

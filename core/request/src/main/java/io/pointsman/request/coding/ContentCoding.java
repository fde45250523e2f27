package io.pointsman.request.coding;

import io.airlift.compress.v3.zstd.ZstdInputStream;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.zip.GZIPInputStream;
import java.util.zip.Inflater;
import java.util.zip.InflaterInputStream;
import org.brotli.dec.BrotliInputStream;
import org.jspecify.annotations.Nullable;

/**
 * Content coding that the router can decode (RFC 9110, 8.4.1; RFC 8878; RFC 7932). A decoder uses
 * at most 16 MiB: brotli's largest window; windows of zstd have at most 8 MiB (RFC 9659).
 */
public enum ContentCoding {
  GZIP("gzip"),
  DEFLATE("deflate"),
  ZSTD("zstd"),
  BROTLI("br");

  /** All names, as the value of {@code Accept-Encoding}. */
  public static final String NAMES = "gzip, deflate, zstd, br";

  /** Size in bytes of the header of a zlib stream. */
  private static final int ZLIB_HEADER = 2;

  private final String label;

  ContentCoding(String label) {
    this.label = label;
  }

  /** Name in {@code Content-Encoding}. */
  public String label() {
    return label;
  }

  /** The coding with this name, ignoring case; null if it is unknown. */
  static @Nullable ContentCoding named(String name) {
    for (ContentCoding coding : values()) {
      if (coding.label.equalsIgnoreCase(name)) {
        return coding;
      }
    }
    return name.equalsIgnoreCase("x-gzip") ? GZIP : null;
  }

  /** Decoder of the bytes from {@code offset} on. The caller closes it. */
  InputStream open(byte[] bytes, int offset, int length) throws IOException {
    InputStream in = new ByteArrayInputStream(bytes, offset, length);
    return switch (this) {
      case GZIP -> new GZIPInputStream(in);
      case DEFLATE -> new DeflateStream(in, new Inflater(!zlib(bytes, offset, length)));
      case ZSTD -> new ZstdInputStream(in);
      case BROTLI -> new BrotliInputStream(in);
    };
  }

  /** True for a zlib stream. Some clients send {@code deflate} without the header of zlib. */
  private static boolean zlib(byte[] bytes, int offset, int length) {
    if (length < ZLIB_HEADER) {
      return true;
    }
    int method = bytes[offset] & 0xff;
    int check = method << 8 | (bytes[offset + 1] & 0xff);
    return (method & 0x0f) == 8 && check % 31 == 0;
  }

  /** A stream that frees its inflater. */
  private static final class DeflateStream extends InflaterInputStream {
    DeflateStream(InputStream in, Inflater inflater) {
      super(in, inflater);
    }

    @Override
    public void close() throws IOException {
      super.close();
      inf.end();
    }
  }
}

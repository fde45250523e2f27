package io.pointsman.proxy.settings;

/**
 * How large a client's request may be.
 *
 * @param maxBodyBytes largest body, in bytes; 413 above it
 * @param maxHeaderBytes largest header section, in bytes, at least 256; 431 above it, and for more
 *     than 1,000 lines
 * @param maxUriBytes longest request line, in bytes, at least 64; 414 above it
 * @param maxBufferedBody bodies up to so many bytes are kept until the answer begins, so that they
 *     can be read whole and sent again; a larger one is routed on its head and streamed on, without
 *     retries. Eight times as much is kept, at most 1 GiB, of one whose head does not name the
 *     model that it must name. At most {@link Integer#MAX_VALUE} / 2; 0 keeps none.
 * @param maxBufferedTotal bytes kept of all requests together, outside of the heap; 503 above it.
 *     When three quarters are taken, bodies of which a part tells where they go are streamed on
 */
public record LimitSettings(
    long maxBodyBytes,
    int maxHeaderBytes,
    int maxUriBytes,
    int maxBufferedBody,
    long maxBufferedTotal) {

  public static final LimitSettings DEFAULTS =
      new LimitSettings(512L << 20, 64 << 10, 16 << 10, 8 << 20, 1L << 30);

  public LimitSettings {
    if (maxBodyBytes < 0) {
      throw new IllegalArgumentException("maxBodyBytes: " + maxBodyBytes + " (expected: >= 0)");
    }
    if (maxHeaderBytes < 256) {
      throw new IllegalArgumentException(
          "maxHeaderBytes: " + maxHeaderBytes + " (expected: >= 256)");
    }
    if (maxUriBytes < 64) {
      throw new IllegalArgumentException("maxUriBytes: " + maxUriBytes + " (expected: >= 64)");
    }
    if (maxBufferedBody < 0 || maxBufferedBody > Integer.MAX_VALUE / 2) {
      throw new IllegalArgumentException(
          "maxBufferedBody: " + maxBufferedBody + " (expected: 0 to 1 GiB)");
    }
    if (maxBufferedTotal < 0) {
      throw new IllegalArgumentException(
          "maxBufferedTotal: " + maxBufferedTotal + " (expected: >= 0)");
    }
  }

  /** The same with another largest body. */
  public LimitSettings withMaxBodyBytes(long bytes) {
    return new LimitSettings(bytes, maxHeaderBytes, maxUriBytes, maxBufferedBody, maxBufferedTotal);
  }

  /** The same with another bound of what is kept. */
  public LimitSettings withMaxBufferedBody(int bytes) {
    return new LimitSettings(maxBodyBytes, maxHeaderBytes, maxUriBytes, bytes, maxBufferedTotal);
  }

  /** The same with another bound of what is kept of all requests. */
  public LimitSettings withMaxBufferedTotal(long bytes) {
    return new LimitSettings(maxBodyBytes, maxHeaderBytes, maxUriBytes, maxBufferedBody, bytes);
  }
}

package io.pointsman.proxy.settings;

import static java.util.Objects.requireNonNull;

import io.netty.util.internal.PlatformDependent;
import io.soabase.recordbuilder.core.RecordBuilder;

/**
 * Limits on the size of a client's request, and the handling of its compressed body.
 *
 * @param maxBodyBytes maximum size of a body in bytes; larger ones get status 413
 * @param maxHeaderBytes maximum size of the header section in bytes, at least 256; larger ones, or
 *     more than 1,000 lines, get status 431
 * @param maxUriBytes maximum length of the request line in bytes, at least 64; longer ones get
 *     status 414
 * @param maxBufferedBody maximum size in bytes of a body that is buffered until its answer starts,
 *     and can be retried. A larger body is routed by its first part and streamed. The limit is
 *     eight times as high, at most 1 GiB, if the first part lacks a required model. At most {@link
 *     Integer#MAX_VALUE} / 2; 0 buffers none
 * @param maxBufferedTotal maximum number of buffered bytes of all requests, outside the heap;
 *     further requests get status 503. Above three quarters, bodies are streamed if their first
 *     part suffices for routing. 0 becomes half of the JVM's direct memory, at most 768 MiB, and
 *     {@code maxBufferedBody} is then not larger
 * @param decoding handling of compressed bodies. They count before and after the decoding, up to
 *     {@code maxBufferedBody}; larger ones get status 413
 * @param strictness further requests that are refused
 * @param clients limits that keep one client from using the share of others
 */
@RecordBuilder
public record LimitSettings(
    long maxBodyBytes,
    int maxHeaderBytes,
    int maxUriBytes,
    int maxBufferedBody,
    long maxBufferedTotal,
    BodyDecoding decoding,
    ClientLimits clients,
    Strictness strictness)
    implements LimitSettingsBuilder.With {

  /**
   * Requests that are refused as vllm-router refuses them.
   *
   * @param methods true to refuse all methods but GET, HEAD, POST, PUT, PATCH and DELETE with 405,
   *     and on a route of vllm-router all methods but those of the route
   * @param postOnly with {@code methods}: true to refuse all methods but POST on other paths
   * @param bodies true to refuse bodies that do not have vllm-router's types with 422, and to give
   *     rerank answers its form
   */
  public record Strictness(boolean methods, boolean postOnly, boolean bodies) {
    public static final Strictness NONE = new Strictness(false, false, false);
  }

  private static final long MOST_BY_DEFAULT = 768L << 20;

  public static final LimitSettings DEFAULTS =
      new LimitSettings(
          512L << 20,
          64 << 10,
          16 << 10,
          8 << 20,
          0,
          BodyDecoding.AUTO,
          ClientLimits.DEFAULTS,
          Strictness.NONE);

  /** Limits without those for single clients. */
  public LimitSettings(
      long maxBodyBytes,
      int maxHeaderBytes,
      int maxUriBytes,
      int maxBufferedBody,
      long maxBufferedTotal,
      BodyDecoding decoding) {
    this(
        maxBodyBytes,
        maxHeaderBytes,
        maxUriBytes,
        maxBufferedBody,
        maxBufferedTotal,
        decoding,
        ClientLimits.NONE,
        Strictness.NONE);
  }

  /** Limits with the default handling of compressed bodies. */
  public LimitSettings(
      long maxBodyBytes,
      int maxHeaderBytes,
      int maxUriBytes,
      int maxBufferedBody,
      long maxBufferedTotal) {
    this(
        maxBodyBytes,
        maxHeaderBytes,
        maxUriBytes,
        maxBufferedBody,
        maxBufferedTotal,
        BodyDecoding.AUTO);
  }

  public LimitSettings {
    requireNonNull(decoding, "decoding");
    requireNonNull(strictness, "strictness");
    requireNonNull(clients, "clients");
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
    if (maxBufferedTotal == 0) {
      maxBufferedTotal = bufferedTotal(PlatformDependent.estimateMaxDirectMemory());
      maxBufferedBody = Math.toIntExact(Math.min(maxBufferedBody, maxBufferedTotal));
    }
  }

  /**
   * Maximum number of buffered bytes of a process with this much memory for buffers: half of it, at
   * most 768 MiB. The other half is for reads and writes. With that maximum, 80 bodies of 7 MB took
   * 894 MB (docs/deploy.md).
   *
   * @param directMemory maximum number of bytes outside of the heap
   */
  static long bufferedTotal(long directMemory) {
    return Math.min(MOST_BY_DEFAULT, directMemory / 2);
  }
}

package io.pointsman.request;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.pointsman.engine.prefix.PrefixBlocks;
import java.util.Arrays;

/** Request reader for tests. It reads each body at an odd offset of a larger array. */
public final class Reading {
  private static final RequestReader READER = new RequestReader(AffinitySettings.DEFAULT);
  private static final int OFFSET = 3;

  private Reading() {}

  public static RequestFacts read(Endpoint endpoint, String body) {
    return read(endpoint, TestHeaders.NONE, body.getBytes(UTF_8), false);
  }

  public static RequestFacts read(Endpoint endpoint, RequestHeaders headers, String body) {
    return read(endpoint, headers, body.getBytes(UTF_8), false);
  }

  public static synchronized RequestFacts read(
      Endpoint endpoint, RequestHeaders headers, byte[] body, boolean truncated) {
    byte[] padded = new byte[body.length + OFFSET + 2];
    Arrays.fill(padded, (byte) '"');
    System.arraycopy(body, 0, padded, OFFSET, body.length);
    return READER.read(endpoint, headers, padded, OFFSET, body.length, truncated);
  }

  public static RequestFacts chat(String body) {
    return read(Endpoint.CHAT_COMPLETIONS, body);
  }

  /** The blocks of a routing key. */
  public static long[] blocks(RequestFacts facts) {
    return Arrays.copyOf(facts.prefix().hashes(), facts.prefix().count());
  }

  /** Number of leading blocks that two routing keys share. */
  public static int shared(RequestFacts one, RequestFacts other) {
    int mismatch = Arrays.mismatch(blocks(one), blocks(other));
    return mismatch < 0 ? one.prefix().count() : mismatch;
  }

  public static String quoted(byte[] body, Span span) {
    return new String(body, span.offset(), span.length(), UTF_8);
  }

  public static PrefixBlocks key(Endpoint endpoint, String body) {
    return read(endpoint, body).prefix();
  }
}

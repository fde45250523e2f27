package io.pointsman.testkit.client;

import java.nio.charset.StandardCharsets;

/**
 * Requests that servers may read differently, or that demand excessive resources, by name. Each is
 * followed by a second request, {@link #SMUGGLED}. A server must not process the second one unless
 * it is certain where the first one ends.
 */
@SuppressWarnings("StringConcatToTextBlock") // line ends matter
public enum HostileRequest {
  LENGTH_THEN_CHUNKS(headers("content-length: 5\r\ntransfer-encoding: chunked")),
  CHUNKS_THEN_LENGTH(headers("transfer-encoding: chunked\r\ncontent-length: 5")),
  TWO_LENGTHS(headers("content-length: 5\r\ncontent-length: 6")),
  SAME_LENGTH_TWICE(headers("content-length: 5\r\ncontent-length: 5")),
  LIST_OF_LENGTHS(headers("content-length: 5, 5")),
  SIGNED_LENGTH(headers("content-length: +5")),
  NEGATIVE_LENGTH(headers("content-length: -5")),
  HEXADECIMAL_LENGTH(headers("content-length: 0x5")),
  EMPTY_LENGTH(headers("content-length: ")),
  OVERFLOWING_LENGTH(headers("content-length: 18446744073709551621")),
  CODING_TWICE(headers("transfer-encoding: chunked\r\ntransfer-encoding: chunked")),
  CODING_LISTED_TWICE(headers("transfer-encoding: chunked, chunked")),
  CODING_THEN_IDENTITY(headers("transfer-encoding: chunked\r\ntransfer-encoding: identity")),
  COMPRESSED_CODING(headers("transfer-encoding: gzip, chunked")),
  UNKNOWN_CODING(headers("transfer-encoding: xchunked")),
  CODING_WITH_VERTICAL_TAB(headers("transfer-encoding: \u000bchunked")),
  CODING_WITH_SPACE_BEFORE_COLON(headers("transfer-encoding : chunked")),
  CODING_FOLDED(headers("transfer-encoding:\r\n chunked")),
  CODING_IN_AN_OLD_VERSION(
      "POST /x HTTP/1.0\r\nhost: r\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"),
  FOLDED_HEADER(headers("x-folded: one\r\n two")),
  FIRST_HEADER_FOLDED("POST /x HTTP/1.1\r\n host: r\r\ncontent-length: 0\r\n\r\n"),
  BARE_LINE_FEED_IN_HEAD("POST /x HTTP/1.1\nhost: r\ncontent-length: 0\n\n"),
  BARE_LINE_FEED_AFTER_HEADER("POST /x HTTP/1.1\r\nhost: r\nx: y\r\ncontent-length: 0\r\n\r\n"),
  BARE_CARRIAGE_RETURN(headers("x-bare: a\rcontent-length: 5")),
  NUL_IN_HEADER(headers("x-nul: a\u0000b")),
  HEADER_WITHOUT_COLON(headers("nothing")),
  HEADER_WITHOUT_NAME(headers(": value")),
  SPACE_IN_HEADER_NAME(headers("x y: z")),
  NO_HOST("POST /x HTTP/1.1\r\ncontent-length: 0\r\n\r\n"),
  TWO_HOSTS("POST /x HTTP/1.1\r\nhost: a\r\nhost: b\r\ncontent-length: 0\r\n\r\n"),
  SIZE_NOT_HEXADECIMAL(chunked("xyz\r\nhello\r\n")),
  SIZE_WITH_PREFIX(chunked("0x5\r\nhello\r\n")),
  SIGNED_SIZE(chunked("+5\r\nhello\r\n")),
  NEGATIVE_SIZE(chunked("-5\r\nhello\r\n")),
  OVERSIZE_CHUNK(chunked("fffffffffffffffff\r\nhello\r\n")),
  SIZE_THAT_WRAPS_AROUND(chunked("100000005\r\nhello\r\n0\r\n\r\n")),
  EMPTY_SIZE(chunked("\r\nhello\r\n")),
  SIZE_ENDED_BY_BARE_LINE_FEED(chunked("5\nhello\r\n")),
  CHUNK_LONGER_THAN_ITS_SIZE(chunked("3\r\nhello\r\n")),
  HUGE_CHUNK_EXTENSION(chunked("5;x=" + "y".repeat(200_000) + "\r\nhello\r\n")),
  CHUNK_EXTENSION_WITH_LINE_FEED(chunked("5;x=a\nb\r\nhello\r\n")),
  HUGE_TRAILERS(chunked("0\r\nx-trailer: " + "y".repeat(200_000) + "\r\n")),
  LENGTH_IN_TRAILERS(chunked("0\r\ncontent-length: 5\r\n\r\n")),
  CODING_IN_TRAILERS(chunked("0\r\nx: y\r\nTransfer-Encoding: chunked\r\n\r\n")),
  HOST_IN_TRAILERS(chunked("0\r\nhost: other\r\n\r\n")),
  TRAILER_WITHOUT_COLON(chunked("0\r\nx-trailer\r\n\r\n")),
  LARGE_HEADER(headers("x-large: " + "a".repeat(200_000))),
  MANY_HEADERS(headers("x-a: b\r\n".repeat(20_000) + "x-last: c")),
  MANY_SHORT_HEADERS(headers("b:\r\n".repeat(8_000) + "x-last: c")),
  MANY_CONNECTION_OPTIONS(headers("connection: " + "a,".repeat(16_000) + "\r\nb: c")),
  LONG_URI("POST /" + "a".repeat(200_000) + " HTTP/1.1\r\nhost: r\r\ncontent-length: 0\r\n\r\n"),
  LARGE_BODY_ANNOUNCED(headers("content-length: 999999999999")),
  OTHER_VERSION("POST /x HTTP/1.2\r\nhost: r\r\ncontent-length: 0\r\n\r\n"),
  NEXT_PROTOCOL("PRI * HTTP/2.0\r\nhost: router\r\n\r\n"),
  NO_VERSION("POST /x\r\nhost: r\r\n\r\n"),
  NOT_HTTP("\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\r\n\r\n");

  /** Path of the second request. */
  public static final String SMUGGLED = "/smuggled";

  private final String text;

  HostileRequest(String text) {
    this.text = text;
  }

  /** The client's bytes, including the second request. */
  public byte[] bytes() {
    String second = "GET " + SMUGGLED + " HTTP/1.1\r\nhost: r\r\n\r\n";
    return (text + second).getBytes(StandardCharsets.ISO_8859_1);
  }

  private static String headers(String lines) {
    return "POST /x HTTP/1.1\r\nhost: r\r\n" + lines + "\r\n\r\n0\r\n\r\n";
  }

  private static String chunked(String body) {
    return "POST /x HTTP/1.1\r\nhost: r\r\ntransfer-encoding: chunked\r\n\r\n" + body;
  }
}

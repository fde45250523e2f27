package io.pointsman.testkit.client;

import java.nio.charset.StandardCharsets;

/** Places to cut the bytes of a request or of its response, by name. */
public enum Cut {
  BEFORE_ANYTHING(""),
  IN_METHOD("PO"),
  IN_TARGET("POST /v1/compl"),
  IN_VERSION("POST /v1/completions HTTP/1."),
  WITHIN_LINE_END("POST /v1/completions HTTP/1.1\r"),
  AFTER_REQUEST_LINE("POST /v1/completions HTTP/1.1\r\n"),
  IN_HEADER_NAME("POST /v1/completions HTTP/1.1\r\nho"),
  IN_HEADER_VALUE("POST /v1/completions HTTP/1.1\r\nhost: rou"),
  WITHIN_HEAD_END("POST /v1/completions HTTP/1.1\r\nhost: r\r\ncontent-length: 50\r\n\r"),
  BEFORE_BODY("POST /v1/completions HTTP/1.1\r\nhost: r\r\ncontent-length: 50\r\n\r\n"),
  IN_BODY("POST /v1/completions HTTP/1.1\r\nhost: r\r\ncontent-length: 50\r\n\r\n{\"model\":"),
  IN_CHUNK_SIZE("POST /v1/completions HTTP/1.1\r\nhost: r\r\ntransfer-encoding: chunked\r\n\r\n1"),
  IN_CHUNK(
      "POST /v1/completions HTTP/1.1\r\nhost: r\r\ntransfer-encoding: chunked\r\n\r\n10\r\n{\"mo"),
  BEFORE_LAST_CHUNK(
      "POST /v1/completions HTTP/1.1\r\nhost: r\r\ntransfer-encoding: chunked\r\n\r\n1\r\n{\r\n"),
  IN_TRAILERS("POST /x HTTP/1.1\r\nhost: r\r\ntransfer-encoding: chunked\r\n\r\n0\r\nx-trailer: o"),
  /** The request is complete; the client reads this number of response bytes. */
  BEFORE_ANSWER(0),
  IN_STATUS_LINE(5),
  IN_ANSWERS_HEADERS(60),
  IN_ANSWERS_FIRST_CHUNKS(400),
  DEEP_IN_THE_ANSWER(5_000);

  private final String request;
  private final int answerBytes;

  Cut(String request) {
    this.request = request;
    answerBytes = -1;
  }

  Cut(int answerBytes) {
    request = "";
    this.answerBytes = answerBytes;
  }

  /** True if the request is sent completely. */
  public boolean afterRequest() {
    return answerBytes >= 0;
  }

  /** The bytes sent of a request that is cut. */
  public byte[] request() {
    return request.getBytes(StandardCharsets.ISO_8859_1);
  }

  /** Number of response bytes read after a complete request. */
  public int answerBytes() {
    return answerBytes;
  }
}

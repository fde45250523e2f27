package io.pointsman.it.support;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * The response to one request.
 *
 * @param head status line and headers
 * @param body body without framing, still compressed if it was
 * @param complete true if the framing shows that nothing is missing
 */
@SuppressWarnings("ArrayRecordComponent") // passed on without copy, never compared
public record HttpAnswer(Head head, byte[] body, boolean complete) {

  /** A header line; the name is unchanged. */
  public record Header(String name, String value) {}

  /** A status line with its headers. */
  public record Head(int status, List<Header> headers) {
    public Head {
      headers = List.copyOf(headers);
    }

    /** The first value of a header, in any case; null if it is missing. */
    public @Nullable String header(String name) {
      for (Header header : headers) {
        if (header.name().equalsIgnoreCase(name)) {
          return header.value();
        }
      }
      return null;
    }

    boolean chunked() {
      String coding = header("transfer-encoding");
      return coding != null && coding.toLowerCase(Locale.ROOT).contains("chunked");
    }

    /** The value of {@code content-length}; -1 if it is missing. */
    long contentLength() {
      String length = header("content-length");
      return length == null ? -1 : Long.parseLong(length.strip());
    }
  }

  public int status() {
    return head.status();
  }

  public @Nullable String header(String name) {
    return head.header(name);
  }

  public String text() {
    return new String(body, StandardCharsets.UTF_8);
  }
}

package io.pointsman.proxy.wire;

import io.netty.buffer.ByteBuf;
import java.util.ArrayList;
import java.util.List;

/**
 * Changes to the headers of a client's request.
 *
 * @param headers request id or rank, in place of the client's or the worker's
 * @param plain true to prevent an encoded answer, because the router reads it
 */
public record HeadChanges(List<Header> headers, boolean plain) {
  public static final HeadChanges NONE = new HeadChanges(List.of(), false);
  private static final HeadChanges PLAIN = new HeadChanges(List.of(), true);

  public HeadChanges {
    headers = List.copyOf(headers);
  }

  /** These changes, and no encoded answer. */
  public HeadChanges inPlain() {
    if (plain) {
      return this;
    }
    return headers.isEmpty() ? PLAIN : new HeadChanges(headers, true);
  }

  /** These changes, and this header unless they have one with its name. */
  public HeadChanges or(Header header) {
    if (has(header.name())) {
      return this;
    }
    List<Header> all = new ArrayList<>(headers);
    all.add(header);
    return new HeadChanges(all, plain);
  }

  /** True if the client's header of this name is not forwarded. */
  boolean replaces(HeaderName name) {
    return switch (name) {
      case REQUEST_ID -> has(Header.REQUEST_ID);
      case ACCEPT_ENCODING, WEBSOCKET_EXTENSIONS -> plain;
      default -> false;
    };
  }

  boolean has(String name) {
    for (int i = 0; i < headers.size(); i++) {
      if (headers.get(i).name().equals(name)) {
        return true;
      }
    }
    return false;
  }

  void write(ByteBuf out) {
    for (Header header : headers) {
      Latin1.write(out, header.name() + ": " + header.value() + "\r\n");
    }
  }
}

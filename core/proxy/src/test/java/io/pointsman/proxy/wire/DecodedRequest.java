package io.pointsman.proxy.wire;

import java.util.ArrayList;
import java.util.List;

/** One request as a decoder read it. */
final class DecodedRequest {
  /** State at the end of the bytes. */
  enum End {
    /** The bytes end before the request. */
    OPEN,
    COMPLETE,
    REFUSED
  }

  String line = "";
  final List<String> headers = new ArrayList<>();
  final StringBuilder body = new StringBuilder();
  End end = End.OPEN;

  @Override
  public String toString() {
    return end + " " + line + " " + headers + " " + body;
  }
}

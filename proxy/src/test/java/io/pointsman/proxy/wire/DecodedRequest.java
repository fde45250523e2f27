package io.pointsman.proxy.wire;

import java.util.ArrayList;
import java.util.List;

/** What a decoder made of one request. */
final class DecodedRequest {
  /** How far it got. */
  enum End {
    /** The bytes end before the request does. */
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

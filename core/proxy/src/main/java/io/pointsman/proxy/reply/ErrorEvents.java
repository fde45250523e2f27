package io.pointsman.proxy.reply;

import io.pointsman.request.Endpoint;

/** Errors as events of a stream, in the form of the API that was called. */
public final class ErrorEvents {
  private ErrorEvents() {}

  /** The event with its empty line. */
  public static String of(ProxyError error, Endpoint endpoint) {
    String object = error.json(error.message());
    if (endpoint == Endpoint.MESSAGES) {
      return "event: error\n"
          + "data: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\""
          + JsonStrings.escape(error.message())
          + "\"}}\n\n";
    }
    if (endpoint == Endpoint.RESPONSES) {
      return "event: error\ndata: {\"type\":\"error\",\"code\":\""
          + error.code()
          + "\",\"message\":\""
          + JsonStrings.escape(error.message())
          + "\",\"param\":null,"
          + object.substring(1)
          + "\n\n";
    }
    return "data: " + object + "\n\n";
  }
}

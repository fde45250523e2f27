package io.pointsman.proxy.reply;

import io.pointsman.request.Endpoint;

/** Errors as events of a stream, in the form of the API that was called. */
public final class ErrorEvents {
  private ErrorEvents() {}

  /** The event, or events, with their empty lines. */
  public static String of(ProxyError error, Endpoint endpoint) {
    String object = error.json(error.message());
    if (endpoint == Endpoint.MESSAGES) {
      return "event: error\ndata: "
          + AnthropicErrors.json(error.status(), error.message())
          + "\n\n";
    }
    if (endpoint == Endpoint.RESPONSES) {
      return response(error, object);
    }
    return "data: " + object + "\n\n";
  }

  /** Two events, because some clients know only the first one, and SDKs raise only the second. */
  private static String response(ProxyError error, String object) {
    String message = JsonStrings.escape(error.message());
    return "event: response.failed\ndata: {\"type\":\"response.failed\",\"response\":"
        + "{\"object\":\"response\",\"status\":\"failed\",\"output\":[],"
        + "\"error\":{\"code\":\"server_error\",\"message\":\""
        + message
        + "\"}}}\n\nevent: error\ndata: {\"type\":\"error\",\"code\":\""
        + error.code()
        + "\",\"message\":\""
        + message
        + "\",\"param\":null,"
        + object.substring(1)
        + "\n\n";
  }
}

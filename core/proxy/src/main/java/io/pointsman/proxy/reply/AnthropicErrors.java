package io.pointsman.proxy.reply;

import io.pointsman.request.Paths;

/** Errors in the form of Anthropic's API, for the routes of its messages. */
public final class AnthropicErrors {
  private static final String MESSAGES = "/v1/messages";

  private AnthropicErrors() {}

  /**
   * True if clients of a URI expect this form. Engines decode the path. nginx's script and
   * HAProxy's configuration have the same rule.
   */
  public static boolean at(String uri) {
    String path = Paths.plain(Paths.literal(uri));
    return path.startsWith(MESSAGES)
        && (path.length() == MESSAGES.length() || path.charAt(MESSAGES.length()) == '/');
  }

  /** The error as a JSON document on one line. */
  public static String json(int status, String message) {
    return "{\"type\":\"error\",\"error\":" + object(status, message) + "}";
  }

  /** The error as a JSON document on one line, with the id of its request. */
  static String json(int status, String message, String requestId) {
    return "{\"type\":\"error\",\"error\":"
        + object(status, message)
        + ",\"request_id\":\""
        + JsonStrings.escape(requestId)
        + "\"}";
  }

  private static String object(int status, String message) {
    return "{\"type\":\""
        + type(status)
        + "\",\"message\":\""
        + JsonStrings.escape(message)
        + "\"}";
  }

  private static String type(int status) {
    return switch (status) {
      case 401 -> "authentication_error";
      case 403 -> "permission_error";
      case 404 -> "not_found_error";
      case 413 -> "request_too_large";
      case 429 -> "rate_limit_error";
      case 503, 529 -> "overloaded_error";
      case 408, 504 -> "timeout_error";
      default -> status < 500 ? "invalid_request_error" : "api_error";
    };
  }
}

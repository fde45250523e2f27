package io.pointsman.tool.sim.http;

import org.jspecify.annotations.Nullable;

/** A request that is answered with an error in OpenAI's form. */
public final class RequestError extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** Type of an error that the server reports before the route's own code runs. */
  static final String MALFORMED = "Bad Request";

  private final int status;
  private final String type;
  private final @Nullable String param;

  /** Creates an error with its HTTP status, its OpenAI {@code type} and the wrong field, if any. */
  public RequestError(int status, String type, String message, @Nullable String param) {
    super(message, null, false, false);
    this.status = status;
    this.type = type;
    this.param = param;
  }

  /** Creates an error for an invalid request: 400. */
  public static RequestError badRequest(String message, @Nullable String param) {
    return new RequestError(400, "BadRequestError", message, param);
  }

  /** Creates an error for a body that does not fit the schema of its route: 400. */
  public static RequestError malformed(String message, @Nullable String param) {
    return new RequestError(400, MALFORMED, message, param);
  }

  /** Creates an error for an unknown resource: 404. */
  public static RequestError notFound(String message, @Nullable String param) {
    return new RequestError(404, "NotFoundError", message, param);
  }

  public int status() {
    return status;
  }

  /** The OpenAI error type. */
  public String type() {
    return type;
  }

  /** The wrong field; null if there is none. */
  public @Nullable String param() {
    return param;
  }

  /** The error message. */
  public String text() {
    String message = getMessage();
    return message == null ? type : message;
  }
}

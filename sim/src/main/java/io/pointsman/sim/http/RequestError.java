package io.pointsman.sim.http;

import org.jspecify.annotations.Nullable;

/** A request that is answered with an error in OpenAI shape. */
public final class RequestError extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final int status;
  private final String type;
  private final @Nullable String param;

  /** An error with its HTTP status, its OpenAI {@code type} and the field at fault, if one is. */
  public RequestError(int status, String type, String message, @Nullable String param) {
    super(message, null, false, false);
    this.status = status;
    this.type = type;
    this.param = param;
  }

  /** A request that cannot be understood: 400. */
  public static RequestError badRequest(String message, @Nullable String param) {
    return new RequestError(400, "BadRequestError", message, param);
  }

  /** Something that does not exist: 404. */
  public static RequestError notFound(String message, @Nullable String param) {
    return new RequestError(404, "NotFoundError", message, param);
  }

  /** HTTP status. */
  public int status() {
    return status;
  }

  /** The OpenAI error type. */
  public String type() {
    return type;
  }

  /** The field at fault. */
  public @Nullable String param() {
    return param;
  }

  /** What went wrong. */
  public String text() {
    String message = getMessage();
    return message == null ? type : message;
  }
}

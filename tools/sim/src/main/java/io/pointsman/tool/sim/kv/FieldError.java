package io.pointsman.tool.sim.kv;

import io.pointsman.tool.sim.http.RequestError;

/**
 * A field that the real connector would reject. Invalid requests are answered with 400; KV that is
 * missing or belongs to something else, with 500.
 */
public final class FieldError extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final String field;
  private final String reason;
  private final int status;

  private FieldError(String field, String reason, int status) {
    super(field + ": " + reason, null, false, false);
    this.field = field;
    this.reason = reason;
    this.status = status;
  }

  /** A field that is missing or malformed. */
  public static FieldError wrong(String field, String found, String expected) {
    return new FieldError(field, found + " (expected: " + expected + ")", 400);
  }

  /** A field that refers to unavailable KV. */
  public static FieldError stale(String field, String reason) {
    return new FieldError(field, reason, 500);
  }

  /** The wrong field. */
  public String field() {
    return field;
  }

  /** The reason, without the field's name. */
  public String reason() {
    return reason;
  }

  /** The error for the client. */
  public RequestError toRequestError() {
    String type = status == 400 ? "BadRequestError" : "InternalServerError";
    return new RequestError(status, type, field + ": " + reason, field);
  }
}

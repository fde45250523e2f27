package io.pointsman.request;

/**
 * Result of reading a request body. Only the structure is checked. Engines check the contents of
 * strings and the form of numbers.
 *
 * @param kind kind of the body
 * @param reason short reason why the body is malformed or not an object; empty otherwise
 * @param position offset in bytes at which the body is malformed; 0 otherwise
 */
public record BodyVerdict(Kind kind, String reason, int position) {
  /** Kind of a request body. */
  public enum Kind {
    /** A complete JSON object. */
    OBJECT,
    /** Complete JSON, but not an object. */
    NOT_OBJECT,
    /** Not JSON. */
    MALFORMED,
    /** No bytes, or white space only. */
    EMPTY,
    /** The first part of a JSON object or of form data; the rest was not read. */
    TRUNCATED,
    /** Multipart form data. */
    FORM,
    /** Not read: compressed, or on a route without body fields. */
    OPAQUE
  }

  static final BodyVerdict OBJECT = new BodyVerdict(Kind.OBJECT, "", 0);
  static final BodyVerdict NOT_OBJECT = new BodyVerdict(Kind.NOT_OBJECT, "not an object", 0);
  static final BodyVerdict EMPTY = new BodyVerdict(Kind.EMPTY, "", 0);
  static final BodyVerdict TRUNCATED = new BodyVerdict(Kind.TRUNCATED, "", 0);
  static final BodyVerdict FORM = new BodyVerdict(Kind.FORM, "", 0);
  static final BodyVerdict OPAQUE = new BodyVerdict(Kind.OPAQUE, "", 0);
}

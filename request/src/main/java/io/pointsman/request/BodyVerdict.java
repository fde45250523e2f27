package io.pointsman.request;

/**
 * What a body turned out to be. Only the structure is checked: contents of strings and the exact
 * form of numbers are the engine's business.
 *
 * @param kind what it is
 * @param reason why it is malformed or not an object, in a few words; empty otherwise
 * @param position byte of the body where {@code reason} shows; 0 otherwise
 */
public record BodyVerdict(Kind kind, String reason, int position) {
  /** What a body can be. */
  public enum Kind {
    /** A complete JSON object. */
    OBJECT,
    /** Complete JSON, but not an object. */
    NOT_OBJECT,
    /** Not JSON. */
    MALFORMED,
    /** No bytes, or white space only. */
    EMPTY,
    /** The head of a JSON object whose rest was not read. */
    TRUNCATED,
    /** Form data. */
    FORM,
    /** Not looked at: compressed, or of a type that carries no fields. */
    OPAQUE
  }

  static final BodyVerdict OBJECT = new BodyVerdict(Kind.OBJECT, "", 0);
  static final BodyVerdict NOT_OBJECT = new BodyVerdict(Kind.NOT_OBJECT, "not an object", 0);
  static final BodyVerdict EMPTY = new BodyVerdict(Kind.EMPTY, "", 0);
  static final BodyVerdict TRUNCATED = new BodyVerdict(Kind.TRUNCATED, "", 0);
  static final BodyVerdict FORM = new BodyVerdict(Kind.FORM, "", 0);
  static final BodyVerdict OPAQUE = new BodyVerdict(Kind.OPAQUE, "", 0);
}

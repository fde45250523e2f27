package io.pointsman.request;

import java.util.HashSet;
import java.util.Set;

/**
 * Result of reading a request body. Only the structure is checked. Engines check the contents of
 * strings and the form of numbers.
 *
 * @param kind kind of the body
 * @param reason short reason why the body is malformed or not an object; empty otherwise
 * @param position offset in bytes at which the body is malformed; 0 otherwise
 * @param furtherModels models that engines can read beside the one of the request, for example
 *     adapters; the empty name for one that is no text
 * @param handover true if the body may have members of {@link
 *     io.pointsman.request.handover.HandoverFields}; false for one that was not read as an object
 */
public record BodyVerdict(
    Kind kind, String reason, int position, Set<String> furtherModels, boolean handover) {
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

  public BodyVerdict {
    furtherModels = Set.copyOf(furtherModels);
  }

  BodyVerdict(Kind kind, String reason, int position) {
    this(kind, reason, position, Set.of(), false);
  }

  /** This verdict with more further models. */
  BodyVerdict naming(Set<String> further) {
    if (further.isEmpty()) {
      return this;
    }
    Set<String> all = new HashSet<>(furtherModels);
    all.addAll(further);
    return new BodyVerdict(kind, reason, position, all, handover);
  }

  /** This verdict of a body that may have members of hand-overs. */
  BodyVerdict withHandover() {
    return new BodyVerdict(kind, reason, position, furtherModels, true);
  }
}

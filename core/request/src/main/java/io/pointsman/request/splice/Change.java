package io.pointsman.request.splice;

import java.util.List;

/** Change of one member of an object. */
sealed interface Change {
  /** The member is removed. */
  record Removed() implements Change {}

  /** The member gets another value. */
  record Value(RawJson value) implements Change {}

  /** The member's value, an object, is edited in place. */
  record Inside(List<BodyEdit> edits) implements Change {}

  /**
   * The member's value, an array, gets more elements.
   *
   * @param elements the elements, each with the comma that precedes it
   */
  record Extended(List<RawJson> elements) implements Change {}
}

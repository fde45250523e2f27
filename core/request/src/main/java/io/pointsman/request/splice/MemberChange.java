package io.pointsman.request.splice;

import java.util.List;

/** Change of one member of an object. */
sealed interface MemberChange {
  /** The member is removed. */
  record Removed() implements MemberChange {}

  /** The member gets another value. */
  record Value(RawJson value) implements MemberChange {}

  /** The member's value, an object, is edited in place. */
  record Inside(List<BodyEdit> edits) implements MemberChange {}

  /**
   * The member's value, an array, gets more elements.
   *
   * @param elements the elements, each with the comma that precedes it
   */
  record Extended(List<RawJson> elements) implements MemberChange {}
}

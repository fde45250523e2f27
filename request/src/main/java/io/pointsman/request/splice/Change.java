package io.pointsman.request.splice;

import io.pointsman.engine.disagg.plan.BodyEdit;
import io.pointsman.engine.disagg.plan.RawJson;
import java.util.List;

/** What becomes of one member. */
sealed interface Change {
  /** It is taken out. */
  record Removed() implements Change {}

  /** It gets another value. */
  record Value(RawJson value) implements Change {}

  /** Its value, an object, is edited in place. */
  record Inside(List<BodyEdit> edits) implements Change {}

  /**
   * Its value, an array, gets more elements.
   *
   * @param elements each with the comma that it needs before it
   */
  record Extended(List<RawJson> elements) implements Change {}
}

package io.pointsman.server.wiring;

/**
 * One part of a change of the configuration, prepared and not in force yet.
 *
 * @param name the part of the configuration, for messages
 * @param apply puts it into force; may fail at any point
 * @param undo puts the earlier part into force again, also if {@code apply} has failed halfway
 * @param drop releases the resources of the new part, which is not in force or not any longer
 * @param finish releases the resources of the earlier part, after all parts are in force
 */
public record ChangePart(
    String name, Runnable apply, Runnable undo, Runnable drop, Runnable finish) {
  /** A part without resources of its own. */
  public static ChangePart of(String name, Runnable apply, Runnable undo) {
    return new ChangePart(name, apply, undo, ChangePart::nothing, ChangePart::nothing);
  }

  /** A part that replaces a resource. */
  static ChangePart of(String name, Replacement change) {
    return of(name, change::apply, change::undo).releasing(change::drop, change::finish);
  }

  /** A part that {@code finish} puts into force when all others are, because it cannot fail. */
  static ChangePart last(String name, Runnable drop, Runnable finish) {
    return new ChangePart(name, ChangePart::nothing, ChangePart::nothing, drop, finish);
  }

  /** Copy that releases resources. */
  public ChangePart releasing(Runnable ofNew, Runnable ofEarlier) {
    return new ChangePart(name, apply, undo, ofNew, ofEarlier);
  }

  private static void nothing() {}
}

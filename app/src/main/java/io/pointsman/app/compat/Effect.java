package io.pointsman.app.compat;

/** What a flag of another router does here. */
public sealed interface Effect {
  /** Translates what was given into the configuration; says what is wrong with it by problems. */
  @FunctionalInterface
  interface Action {
    void apply(Given given, Translation into);
  }

  /**
   * It is translated.
   *
   * @param remark how it differs, if it does; may be empty
   */
  record Honoured(String remark, Action action) implements Effect {}

  /**
   * It is refused because what it belongs to is not built yet; its default is accepted.
   *
   * @param feature what it belongs to
   */
  record Later(String feature) implements Effect {}

  /** It is refused because it cannot be honoured; its default is accepted. */
  record Refused(String reason) implements Effect {}

  /** It is accepted without effect, whatever it says, for a reason. */
  record Idle(String reason) implements Effect {}
}

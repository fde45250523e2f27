package io.pointsman.compat.vllmrouter;

/** Effect of another router's flag in this router. */
public sealed interface Effect {
  /** Translates the flag into configuration values, or adds a problem. */
  @FunctionalInterface
  interface Action {
    void apply(Given given, Translation into);
  }

  /**
   * The flag is translated.
   *
   * @param remark difference from the other router; may be empty
   */
  record Honoured(String remark, Action action) implements Effect {}

  /** The flag belongs to a feature that does not exist yet. Only its default is accepted. */
  record Later(String feature) implements Effect {}

  /** The flag cannot be honoured. Only its default is accepted. */
  record Refused(String reason) implements Effect {}

  /**
   * The flag is accepted and has no effect.
   *
   * @param check adds a problem for a value that the other router refuses
   */
  record Idle(String reason, Action check) implements Effect {}
}

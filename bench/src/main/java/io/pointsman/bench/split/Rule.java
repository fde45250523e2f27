package io.pointsman.bench.split;

import io.pointsman.app.config.ConfigValues;
import io.pointsman.app.config.key.DisaggKeys;

/**
 * Which requests are split.
 *
 * @param kind what is compared with the threshold
 * @param threshold tokens from which on a request is split; 0 splits all
 */
record Rule(Kind kind, int threshold) {
  /** In the configuration: a share that no worker can hold. */
  static final double NEVER_HELD = 2.0;

  enum Kind {
    ALWAYS,
    NEVER,
    /** The input, whether cached or not. */
    INPUT,
    /** The part of the input that no decode worker holds. */
    UNCACHED
  }

  String name() {
    return switch (kind) {
      case ALWAYS -> "always";
      case NEVER -> "never";
      case INPUT -> "input >= " + threshold;
      case UNCACHED -> "uncached >= " + threshold;
    };
  }

  /** Sets the rule, and turns all others off. */
  ConfigValues configure(ConfigValues values) {
    return values
        .set(DisaggKeys.HELD_SHARE, NEVER_HELD)
        .set(
            DisaggKeys.THRESHOLD,
            switch (kind) {
              case ALWAYS, UNCACHED -> 0;
              case NEVER -> Integer.MAX_VALUE;
              case INPUT -> threshold;
            })
        .set(DisaggKeys.UNCACHED_THRESHOLD, kind == Kind.UNCACHED ? threshold : 0);
  }
}

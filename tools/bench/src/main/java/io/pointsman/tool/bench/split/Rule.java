package io.pointsman.tool.bench.split;

import io.pointsman.config.ConfigValues;
import io.pointsman.config.key.DisaggKeys;

/**
 * Rule for the requests that are split.
 *
 * @param kind the quantity compared with the threshold
 * @param threshold tokens from which a request is split; 0 splits all
 */
record Rule(Kind kind, int threshold) {
  /** Value for the configuration: a share that no worker can reach. */
  static final double NEVER_CACHED = 2.0;

  enum Kind {
    ALWAYS,
    NEVER,
    /** Tokens of the input, cached or not. */
    INPUT,
    /** Tokens of the input that no decode worker holds. */
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

  /** Configures this rule and disables all others. */
  ConfigValues configure(ConfigValues values) {
    return values
        .set(DisaggKeys.CACHED_SHARE, NEVER_CACHED)
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

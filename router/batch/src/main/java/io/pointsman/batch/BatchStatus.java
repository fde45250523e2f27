package io.pointsman.batch;

import java.util.Locale;

/** State of a batch, in the words of OpenAI's API. */
enum BatchStatus {
  VALIDATING(true),
  FAILED(false),
  IN_PROGRESS(true),
  FINALIZING(true),
  COMPLETED(false),
  EXPIRED(false),
  CANCELLING(true),
  CANCELLED(false);

  private final boolean open;

  BatchStatus(boolean open) {
    this.open = open;
  }

  /** True while the router still works on the batch. */
  boolean open() {
    return open;
  }

  /** Word of the API. */
  String word() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** Member of a batch with the time of this state. */
  String time() {
    return word() + "_at";
  }

  static BatchStatus of(String word) {
    return valueOf(word.toUpperCase(Locale.ROOT));
  }
}

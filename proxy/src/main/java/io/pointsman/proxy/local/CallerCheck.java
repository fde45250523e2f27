package io.pointsman.proxy.local;

import org.jspecify.annotations.Nullable;

/** Decides who may send requests, by their {@code Authorization} header, before anything else. */
public interface CallerCheck {
  /** Lets everybody in. */
  CallerCheck NONE =
      new CallerCheck() {
        @Override
        public Verdict known(@Nullable String authorization) {
          return Verdict.ADMITTED;
        }

        @Override
        public Verdict ask(String authorization) {
          return Verdict.ADMITTED;
        }
      };

  /** What is known of a caller. */
  enum Verdict {
    ADMITTED,
    REFUSED,
    /** It must be asked for. */
    UNKNOWN
  }

  /**
   * What is known at once. Called on event loops: must neither block nor throw.
   *
   * @param authorization the header's value; null if there is none, which is never unknown
   */
  Verdict known(@Nullable String authorization);

  /**
   * Whether a caller may come in; unknown if that cannot be found out now: who knows cannot be
   * asked, or too many are being asked for. Called on a virtual thread, so it may block; bounded in
   * time.
   */
  Verdict ask(String authorization);
}

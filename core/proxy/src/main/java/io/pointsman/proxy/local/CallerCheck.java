package io.pointsman.proxy.local;

import org.jspecify.annotations.Nullable;

/** Check of the {@code Authorization} header, before any other handling of a request. */
public interface CallerCheck {
  /** Admits all callers. */
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

  /** Result of a check. */
  enum Verdict {
    ADMITTED,
    REFUSED,
    /** The caller must be looked up by {@link #ask}. */
    UNKNOWN
  }

  /**
   * The result that is known without a lookup. Called on event loops; must neither block nor throw.
   *
   * @param authorization value of the header; null if it is absent, for which the result is never
   *     unknown
   */
  Verdict known(@Nullable String authorization);

  /**
   * Looks the caller up. The result is unknown if the authority is unreachable or too many lookups
   * are in progress. Called on a virtual thread; may block for a bounded time.
   */
  Verdict ask(String authorization);
}

package io.pointsman.observe.decisions;

import io.pointsman.engine.policy.Insight;
import io.pointsman.engine.policy.Insight.Fallback;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Logs when a policy falls back to least load and when it decides again. Polled about once a
 * second; a fallback lasts at least a minute. Owned by the thread that calls {@link #look}.
 */
public final class FallbackJournal {
  private static final Logger log = LoggerFactory.getLogger(FallbackJournal.class);

  private final List<Insight> insights;
  private final Map<Insight, Fallback> seen = new HashMap<>();

  public FallbackJournal(List<Insight> insights) {
    this.insights = List.copyOf(insights);
  }

  /** Logs changes since the last call. */
  public void look() {
    for (Insight insight : insights) {
      Fallback now = insight.fallback();
      Fallback before = seen.put(insight, now);
      boolean wasActive = before != null && before.active();
      if (now.active() && !wasActive) {
        log.warn(
            "policy cost falls back to least load: mean time to first token {} ms, predicted for"
                + " least load {} ms",
            Math.round(now.costMillis()),
            Math.round(now.plainMillis()));
      } else if (wasActive && !now.active()) {
        log.info("policy cost is active again: {}", comparison(now));
      }
    }
  }

  private static String comparison(Fallback ended) {
    if (Double.isNaN(ended.fallbackMillis())) {
      return "too few first tokens to compare it with least load";
    }
    return "mean time to first token %d ms under least load, %d ms before"
        .formatted(Math.round(ended.fallbackMillis()), Math.round(ended.costMillis()));
  }
}

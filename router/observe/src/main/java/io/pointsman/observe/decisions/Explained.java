package io.pointsman.observe.decisions;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.engine.policy.Candidate;
import io.pointsman.engine.policy.PickExplanation;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Formats decisions as JSON. */
public final class Explained {
  private Explained() {}

  /** Adds {@code candidates}: the policy's view of each worker. */
  public static void candidates(ObjectNode node, List<Candidate> candidates) {
    ArrayNode all = node.putArray("candidates");
    for (Candidate candidate : candidates) {
      ObjectNode each = all.addObject();
      each.put("worker", candidate.worker().id());
      each.put("verdict", name(candidate.verdict()));
      each.put("in_flight", candidate.inFlight());
      if (!Double.isNaN(candidate.costMillis())) {
        each.put("cached_tokens", candidate.cachedTokens());
        each.put("uncached_tokens", candidate.uncachedTokens());
        millis(each, "predicted_ttft_ms", candidate.ttftMillis());
        millis(each, "wait_ms", candidate.waitMillis());
        millis(each, "cost_ms", candidate.costMillis());
      }
    }
  }

  /**
   * The chosen candidate with the policy's own token estimates, which it corrects by the engines'
   * counts. Null if the policy makes no estimates; other estimates of a decision are not corrected.
   */
  public static @Nullable Candidate chosen(List<Candidate> candidates) {
    for (Candidate each : candidates) {
      if (each.verdict() == Candidate.Verdict.CHOSEN && !Double.isNaN(each.costMillis())) {
        return each;
      }
    }
    return null;
  }

  public static void losses(ObjectNode node, List<PickExplanation.Loss> losses) {
    ObjectNode all = node.putObject("lost_tokens");
    for (PickExplanation.Loss loss : losses) {
      String reason = name(loss.reason());
      all.put(reason, all.path(reason).asInt(0) + loss.tokens());
    }
  }

  /** Adds a time, rounded to microseconds; nothing for NaN. */
  public static void millis(ObjectNode node, String field, double millis) {
    if (!Double.isNaN(millis)) {
      node.put(field, Math.round(millis * 1000) / 1000.0);
    }
  }

  public static String name(Enum<?> constant) {
    return constant.name().toLowerCase(Locale.ROOT);
  }
}

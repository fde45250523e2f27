package io.pointsman.observe.decisions;

import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.LeaseView;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Usage;
import io.pointsman.engine.policy.AffinityKey;
import io.pointsman.engine.policy.Candidate;
import io.pointsman.engine.policy.PickExplanation;
import io.pointsman.engine.policy.PickReason;
import io.pointsman.engine.policy.RoutingRequest;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * One decision with its outcome. Contains no text of the request. Written by the threads that place
 * and settle the request; any thread can read it.
 */
public final class LoggedDecision {
  /** Maximum length of a model name, request id or session in characters; clients choose them. */
  private static final int LONGEST_NAME = 200;

  /** Parts of names of headers and fields with values that may be secret. */
  private static final List<String> SECRET =
      List.of("authorization", "key", "cookie", "token", "secret", "password");

  /**
   * The end of a request.
   *
   * @param outcome succeeded, ignored, or failed with its kind
   * @param millis time since the decision
   */
  public record DecisionEnding(
      String outcome, double millis, Usage usage, List<PickExplanation.Loss> losses) {}

  public final long number;
  public final long placedAt;
  public final Role role;
  public final @Nullable String model;

  /** The client's request id; null if it is unknown. */
  public final @Nullable String requestId;

  /**
   * The session or user that the request belongs to; null if there is none. A hash if the value may
   * be secret.
   */
  public final @Nullable String session;

  public final PickReason reason;
  public final String worker;

  /** The router's estimate of the prompt length, before a policy has corrected it. */
  private final int estimatedTokens;

  /** True if the policy corrects the estimate by the counts of engines. */
  private final boolean corrects;

  private volatile Expected expected;

  /** NaN if the policy does not predict. */
  public final double predictedMillis;

  public final List<Candidate> candidates;

  /**
   * The tokens that an engine is expected to count.
   *
   * @param cached the part of {@code prompt} in its cache
   */
  public record Expected(int prompt, int cached) {}

  private volatile double firstTokenMillis = Double.NaN;
  private volatile @Nullable DecisionEnding ending;

  /**
   * @param number sequence number of the decision, from 0
   */
  public LoggedDecision(long number, RoutingRequest request, LeaseView lease) {
    this.number = number;
    PickExplanation explanation = request.explanation();
    placedAt = lease.placedAt();
    role = request.role();
    model = cut(request.model());
    requestId = cut(request.id());
    AffinityKey key = request.affinity();
    session = key == null || key.kind() != AffinityKey.Kind.SESSION ? null : shown(key);
    reason = request.result().reason();
    worker = lease.worker().id();
    predictedMillis = request.result().predictedMillis();
    candidates = explanation == null ? List.of() : explanation.candidates();
    Candidate chosen = Explained.chosen(candidates);
    estimatedTokens = lease.promptTokens();
    corrects = chosen != null;
    expected =
        chosen == null
            ? new Expected(estimatedTokens, lease.cachedTokens())
            : new Expected(chosen.cachedTokens() + chosen.uncachedTokens(), chosen.cachedTokens());
  }

  /** The tokens of the prompt and of its cached part, as the engine is expected to count them. */
  public Expected expected() {
    return expected;
  }

  /**
   * Makes two decisions of one request show the same length of its prompt. A policy that corrects
   * the estimate, as {@code cost} for prefill, gives its length to one that does not, as {@code
   * joint} for decode.
   *
   * @return false if they are not decisions of one request
   */
  boolean agree(LoggedDecision other) {
    if (requestId == null
        || !requestId.equals(other.requestId)
        || estimatedTokens != other.estimatedTokens) {
      return false;
    }
    if (corrects && !other.corrects) {
      other.correct(expected.prompt());
    } else if (!corrects && other.corrects) {
      correct(other.expected.prompt());
    }
    return true;
  }

  private void correct(int promptTokens) {
    Expected present = expected;
    double each = (double) promptTokens / Math.max(1, present.prompt());
    expected = new Expected(promptTokens, (int) Math.round(present.cached() * each));
  }

  private static @Nullable String cut(@Nullable String text) {
    return text == null || text.length() <= LONGEST_NAME ? text : text.substring(0, LONGEST_NAME);
  }

  private static @Nullable String shown(AffinityKey key) {
    String source = key.source().toLowerCase(Locale.ROOT);
    return SECRET.stream().anyMatch(source::contains)
        ? "hash:" + Long.toHexString(key.hash())
        : cut(key.value());
  }

  /** True if one of its texts contains {@code part}, which is in lower case. */
  boolean mentions(String part) {
    return has(requestId, part) || has(session, part) || has(model, part) || has(worker, part);
  }

  private static boolean has(@Nullable String text, String part) {
    return part.isEmpty() || (text != null && text.toLowerCase(Locale.ROOT).contains(part));
  }

  public void firstToken(long now) {
    firstTokenMillis = (now - placedAt) / 1e6;
  }

  public void ended(RoutingRequest request, LeaseView lease, Outcome outcome, long now) {
    double millis = (now - placedAt) / 1e6;
    PickExplanation explanation = request.explanation();
    List<PickExplanation.Loss> losses = explanation == null ? List.of() : explanation.losses();
    ending = new DecisionEnding(name(outcome), millis, lease.usage(), losses);
  }

  private static String name(Outcome outcome) {
    return switch (outcome) {
      case Outcome.Succeeded _ -> "succeeded";
      case Outcome.Failed(Failure failure, boolean _) ->
          "failed_" + failure.name().toLowerCase(Locale.ROOT);
      case Outcome.Ignored _ -> "ignored";
    };
  }

  /** NaN if no first token was reported. */
  public double firstTokenMillis() {
    return firstTokenMillis;
  }

  /** Null while the request is in flight. */
  public @Nullable DecisionEnding ending() {
    return ending;
  }
}

package io.pointsman.tool.replay.peer;

import io.pointsman.engine.policy.catalog.Policies;
import io.pointsman.engine.policy.catalog.PolicyParts;
import io.pointsman.engine.policy.catalog.PolicySetup;
import io.pointsman.engine.policy.cost.CostSettings;
import io.pointsman.engine.policy.cost.CostTerms;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.UnaryOperator;

/** Parts of {@code cost} that a replay can leave out, to measure the worth of each. */
@SuppressWarnings("ImmutableEnumChecker") // the functions have no state
public enum CostPart {
  DEFERRAL("deferral", terms -> terms.withDeferral(false)),
  WAITING_PRICE("waiting-price", terms -> terms.withWaiting(false)),
  PRICE_FLOOR("price-floor", terms -> terms, settings -> settings.withPriceFloor(0)),
  DECODE_PRICE("decode-price", terms -> terms.withDecodePrice(0)),
  SAME_STEP("same-step", terms -> terms.withSameStep(0)),
  DECODE_MEMORY("decode-memory", terms -> terms.withDecodeMemory(0)),
  MEMORY_WAIT("memory-wait", terms -> terms.withMemoryWait(false)),
  LATE_STEPS("late-steps", terms -> terms.withLateSteps(false)),
  EMPTY_CACHES("empty-caches", terms -> terms.withEmptyCaches(false)),
  ROUNDING("rounding", terms -> terms.withRounding(false)),
  DELAYS("delays", terms -> terms.withDelays(false)),
  SPEEDS("speeds", terms -> terms.withSpeeds(false)),
  TIES("ties", terms -> terms, settings -> settings.withTieMillis(0)),
  TIE_ORDER("tie-order", terms -> terms.withTieOrder(false)),
  GUARD("guard", terms -> terms.withGuard(false));

  /** The policy that has these parts. */
  public static final String WHOLE = "cost";

  private static final String PREFIX = WHOLE + "-";

  private final String label;
  private final UnaryOperator<CostTerms> terms;
  private final UnaryOperator<CostSettings> settings;

  CostPart(String label, UnaryOperator<CostTerms> terms) {
    this(label, terms, all -> all);
  }

  CostPart(String label, UnaryOperator<CostTerms> terms, UnaryOperator<CostSettings> settings) {
    this.label = label;
    this.terms = terms;
    this.settings = settings;
  }

  /** All labels. */
  public static List<String> labels() {
    return Arrays.stream(values()).map(CostPart::label).toList();
  }

  /**
   * Returns the part with this label.
   *
   * @throws IllegalArgumentException if there is none; the message lists all labels
   */
  public static CostPart labelled(String label) {
    return Arrays.stream(values())
        .filter(part -> part.label.equals(label))
        .findFirst()
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    "without: %s (expected: one of %s)"
                        .formatted(label, String.join(", ", labels()))));
  }

  /** Returns the part that a policy of this name lacks; empty for all other policies. */
  static Optional<CostPart> missingIn(String policy) {
    return Arrays.stream(values()).filter(part -> part.policy().equals(policy)).findFirst();
  }

  /** Returns true for {@code cost}, with or without all its parts. */
  public static boolean ofCost(String policy) {
    return policy.equals(WHOLE) || missingIn(policy).isPresent();
  }

  public String label() {
    return label;
  }

  /** The name of {@code cost} without this part. */
  public String policy() {
    return PREFIX + label;
  }

  /** Creates {@code cost} without this part. */
  PolicySetup leftOut(PolicyParts parts) {
    CostSettings reduced = settings.apply(parts.settings().cost());
    return Policies.cost(
        parts.with(parts.settings().withCost(reduced)), terms.apply(CostTerms.ALL));
  }
}

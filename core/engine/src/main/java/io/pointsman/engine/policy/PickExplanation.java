package io.pointsman.engine.policy;

import java.util.ArrayList;
import java.util.List;

/**
 * The explanation of one pick, by request or by sampling. Immutable.
 *
 * @param candidates the policy's evaluation of each worker; empty if the policy has none
 * @param losses the reasons for uncached prompt tokens, after the request has ended
 */
public record PickExplanation(List<Candidate> candidates, List<Loss> losses) {
  /**
   * Prompt tokens of the request that had to be computed for one reason.
   *
   * @param tokens more than 0
   */
  public record Loss(CacheMiss reason, int tokens) {}

  public PickExplanation {
    candidates = List.copyOf(candidates);
    losses = List.copyOf(losses);
  }

  /** The explanation of a pick before its request ends. */
  public PickExplanation(List<Candidate> candidates) {
    this(candidates, List.of());
  }

  PickExplanation plus(Loss loss) {
    List<Loss> more = new ArrayList<>(losses);
    more.add(loss);
    return new PickExplanation(candidates, more);
  }
}

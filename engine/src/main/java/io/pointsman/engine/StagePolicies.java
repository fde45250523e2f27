package io.pointsman.engine;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.policy.Learner;
import io.pointsman.engine.policy.catalog.PolicySetup;
import io.pointsman.engine.policy.session.SessionTable;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.UnaryOperator;

/**
 * A policy for each role. Roles may share one; then they share what it has learned as well.
 *
 * @param regular for workers that serve whole requests
 * @param prefill for workers that compute prompts
 * @param decode for workers that continue from there
 */
public record StagePolicies(PolicySetup regular, PolicySetup prefill, PolicySetup decode) {
  public StagePolicies {
    requireNonNull(regular, "regular");
    requireNonNull(prefill, "prefill");
    requireNonNull(decode, "decode");
  }

  /** The same policy for all roles. */
  public static StagePolicies same(PolicySetup policy) {
    return new StagePolicies(policy, policy, policy);
  }

  /** The same with each setup as {@code change} makes it. */
  public StagePolicies each(UnaryOperator<PolicySetup> change) {
    return new StagePolicies(change.apply(regular), change.apply(prefill), change.apply(decode));
  }

  /** Those of a role. */
  public PolicySetup of(Role role) {
    return switch (role) {
      case REGULAR -> regular;
      case PREFILL -> prefill;
      case DECODE -> decode;
    };
  }

  /** The tables of sessions that policies keep, each once. */
  public List<SessionTable> sessions() {
    Set<SessionTable> tables = new LinkedHashSet<>();
    for (PolicySetup setup : List.of(regular, prefill, decode)) {
      SessionTable table = setup.sessions();
      if (table != null) {
        tables.add(table);
      }
    }
    return List.copyOf(tables);
  }

  /** Each learner once. */
  List<Learner> learners() {
    Set<Learner> all = new LinkedHashSet<>(regular.learners());
    all.addAll(prefill.learners());
    all.addAll(decode.learners());
    return List.copyOf(all);
  }
}

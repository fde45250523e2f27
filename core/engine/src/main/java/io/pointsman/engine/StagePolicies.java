package io.pointsman.engine;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.policy.Learner;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.WantedFields;
import io.pointsman.engine.policy.catalog.PolicySetup;
import io.pointsman.engine.policy.session.SessionTable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * One policy for each role, and optional policies for single models. Roles that share a policy
 * share its learned state.
 *
 * @param regular for workers that serve whole requests
 * @param prefill for workers that compute prompts
 * @param decode for workers that generate after a prefill worker
 * @param byModel replaces {@code regular} for whole requests for these models and their adapters
 */
public record StagePolicies(
    PolicySetup regular,
    PolicySetup prefill,
    PolicySetup decode,
    Map<String, PolicySetup> byModel) {
  /** The same policies for all models. */
  public StagePolicies(PolicySetup regular, PolicySetup prefill, PolicySetup decode) {
    this(regular, prefill, decode, Map.of());
  }

  public StagePolicies {
    byModel = Map.copyOf(byModel);
    requireNonNull(regular, "regular");
    requireNonNull(prefill, "prefill");
    requireNonNull(decode, "decode");
  }

  /** Uses one policy for all roles. */
  public static StagePolicies same(PolicySetup policy) {
    return new StagePolicies(policy, policy, policy);
  }

  /** Returns a copy in which {@code change} has transformed each setup. */
  public StagePolicies each(UnaryOperator<PolicySetup> change) {
    Map<String, PolicySetup> models = new HashMap<>();
    byModel.forEach((model, setup) -> models.put(model, change.apply(setup)));
    return new StagePolicies(
        change.apply(regular), change.apply(prefill), change.apply(decode), models);
  }

  /** Returns a copy with {@code policies} for whole requests for the models that they name. */
  public StagePolicies with(Map<String, PolicySetup> policies) {
    return new StagePolicies(regular, prefill, decode, policies);
  }

  /** The policy setup for a request. */
  public PolicySetup of(RoutingRequest request) {
    return of(request.role(), request.model());
  }

  /**
   * @param model null if any model qualifies
   */
  PolicySetup of(Role role, @Nullable String model) {
    return switch (role) {
      case REGULAR -> ModelNames.find(byModel, model, regular);
      case PREFILL -> prefill;
      case DECODE -> decode;
    };
  }

  /** All setups, duplicates included. */
  public List<PolicySetup> all() {
    List<PolicySetup> all = new ArrayList<>(List.of(regular, prefill, decode));
    all.addAll(byModel.values());
    return all;
  }

  /** The union of the request fields that the policies read. */
  WantedFields wanted() {
    WantedFields all = WantedFields.NONE;
    for (PolicySetup setup : all()) {
      all = all.and(setup.wanted());
    }
    return all;
  }

  /** The session tables of the policies, without duplicates. */
  public List<SessionTable> sessions() {
    Set<SessionTable> tables = new LinkedHashSet<>();
    for (PolicySetup setup : all()) {
      SessionTable table = setup.sessions();
      if (table != null) {
        tables.add(table);
      }
    }
    return List.copyOf(tables);
  }

  /** The learners of all policies, without duplicates. */
  List<Learner> learners() {
    Set<Learner> all = new LinkedHashSet<>(regular.learners());
    all.addAll(prefill.learners());
    all.addAll(decode.learners());
    byModel.values().forEach(setup -> all.addAll(setup.learners()));
    return List.copyOf(all);
  }
}

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
 * A policy for each role, and for models of their own. Roles may share one; then they share what it
 * has learned as well.
 *
 * @param regular for workers that serve whole requests
 * @param prefill for workers that compute prompts
 * @param decode for workers that continue from there
 * @param byModel in place of {@code regular} for whole requests for these models and their adapters
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

  /** The same policy for all roles. */
  public static StagePolicies same(PolicySetup policy) {
    return new StagePolicies(policy, policy, policy);
  }

  /** The same with each setup as {@code change} makes it. */
  public StagePolicies each(UnaryOperator<PolicySetup> change) {
    Map<String, PolicySetup> models = new HashMap<>();
    byModel.forEach((model, setup) -> models.put(model, change.apply(setup)));
    return new StagePolicies(
        change.apply(regular), change.apply(prefill), change.apply(decode), models);
  }

  /** These, and {@code policies} for whole requests for the models that they name. */
  public StagePolicies with(Map<String, PolicySetup> policies) {
    return new StagePolicies(regular, prefill, decode, policies);
  }

  /** Those of a request. */
  public PolicySetup of(RoutingRequest request) {
    return of(request.role(), request.model());
  }

  /**
   * @param model null if any will do
   */
  PolicySetup of(Role role, @Nullable String model) {
    return switch (role) {
      case REGULAR -> ModelNames.find(byModel, model, regular);
      case PREFILL -> prefill;
      case DECODE -> decode;
    };
  }

  /** All of them. */
  public List<PolicySetup> all() {
    List<PolicySetup> all = new ArrayList<>(List.of(regular, prefill, decode));
    all.addAll(byModel.values());
    return all;
  }

  /** What any of them reads of clients' requests. */
  WantedFields wanted() {
    WantedFields all = WantedFields.NONE;
    for (PolicySetup setup : all()) {
      all = all.and(setup.wanted());
    }
    return all;
  }

  /** The tables of sessions that policies keep, each once. */
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

  /** Each learner once. */
  List<Learner> learners() {
    Set<Learner> all = new LinkedHashSet<>(regular.learners());
    all.addAll(prefill.learners());
    all.addAll(decode.learners());
    byModel.values().forEach(setup -> all.addAll(setup.learners()));
    return List.copyOf(all);
  }
}

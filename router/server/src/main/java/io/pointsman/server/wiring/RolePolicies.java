package io.pointsman.server.wiring;

import static java.util.Objects.requireNonNull;

import io.pointsman.config.PointsmanConfig;
import io.pointsman.engine.StagePolicies;
import io.pointsman.engine.policy.Learner;
import io.pointsman.engine.policy.catalog.PolicyMemory;
import io.pointsman.engine.policy.catalog.PolicyParts;
import io.pointsman.engine.policy.catalog.PolicySetup;
import io.pointsman.engine.policy.session.SessionAffinity;
import io.pointsman.engine.policy.tier.Tiers;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Builds the policies of all roles and models from a configuration, and builds them again when it
 * changes. New policies take over the prefix indexes and sessions of their predecessors, if the
 * sizes are equal.
 */
final class RolePolicies {
  private final PolicyClasses classes;
  private final PolicyParts parts;
  private final PreferredWorkers preferred;
  private final Disaggregation two;

  /** The memories of the policies in use; replaced as a whole. */
  private volatile Memories memories = Memories.empty();

  /** The policies in use; null before the start. */
  private volatile @Nullable Built present;

  /**
   * The memories of the policies of each role.
   *
   * @param ofModels those of the regular policies of single models
   */
  private record Memories(
      PolicyMemory regular,
      PolicyMemory prefill,
      PolicyMemory decode,
      Map<String, PolicyMemory> ofModels) {
    static Memories empty() {
      return new Memories(
          new PolicyMemory(), new PolicyMemory(), new PolicyMemory(), new HashMap<>());
    }

    Memories copy() {
      Map<String, PolicyMemory> copies = new HashMap<>();
      ofModels.forEach((model, kept) -> copies.put(model, kept.copy()));
      return new Memories(regular.copy(), prefill.copy(), decode.copy(), copies);
    }

    List<Learner> learners() {
      List<Learner> all = new ArrayList<>();
      Stream.concat(Stream.of(regular, prefill, decode), ofModels.values().stream())
          .forEach(each -> all.addAll(each.learners()));
      return all;
    }
  }

  /** Policies of a configuration. */
  static final class Built {
    private final StagePolicies policies;
    private final Map<String, String> names;
    private final Memories memories;
    private final Disaggregation.@Nullable Stages stages;
    private final PolicyClasses.Of classes;

    private Built(
        StagePolicies policies,
        Map<String, String> names,
        Memories memories,
        Disaggregation.@Nullable Stages stages,
        PolicyClasses.Of classes) {
      this.policies = policies;
      this.classes = classes;
      this.names = names;
      this.memories = memories;
      this.stages = stages;
    }

    StagePolicies policies() {
      return policies;
    }

    /** Configured names of policies by model. */
    Map<String, String> names() {
      return names;
    }
  }

  /**
   * @param two prefill and decode on two workers
   */
  RolePolicies(
      PolicyClasses classes, PolicyParts parts, PreferredWorkers preferred, Disaggregation two) {
    this.classes = classes;
    this.parts = parts;
    this.preferred = preferred;
    this.two = two;
  }

  /** True if both configurations have the same policies. */
  static boolean same(PointsmanConfig one, PointsmanConfig other) {
    return one.policy().equals(other.policy())
        && one.pluginDirectory().equals(other.pluginDirectory())
        && one.policies().equals(other.policies())
        && one.models().equals(other.models())
        && one.tiers().equals(other.tiers())
        && one.engine().unknownModel() == other.engine().unknownModel()
        && one.disagg().equals(other.disagg());
  }

  /**
   * The policies of the start.
   *
   * @throws IllegalArgumentException if a policy cannot be created
   */
  Built first(PointsmanConfig config) {
    Built first = built(config, memories);
    present = first;
    first.classes.hold();
    return first;
  }

  /** The policies in use. Call it after {@link #first}. */
  Built present() {
    return requireNonNull(present);
  }

  /**
   * The policies of a changed configuration. Changes nothing that is in use, nor the memory of the
   * policies in use.
   *
   * @throws IllegalArgumentException if a policy cannot be created
   */
  Built rebuilt(PointsmanConfig next) {
    return built(next, memories.copy());
  }

  /** Keeps the memories of policies that are in use from here on. */
  void use(Built next, PointsmanConfig by) {
    memories = next.memories;
    next.classes.hold();
    present().classes.release();
    present = next;
    preferred.use(by);
    two.use(next.stages);
  }

  /** Learners of earlier policies that a later policy may take over. */
  List<Learner> learners() {
    List<Learner> kept = new ArrayList<>(memories.learners());
    kept.addAll(preferred.learners());
    return kept;
  }

  private Built built(PointsmanConfig by, Memories learned) {
    Tiers tiers = preferred.of(by);
    PolicyClasses.Of own = classes.of(by.pluginDirectory());
    PolicyParts ofRegular = parts.remembering(by.policies(), learned.regular);
    PolicySetup regular = tiers.around(own.create(by.policy(), ofRegular));
    ModelPolicies models = new ModelPolicies(by, own, parts, tiers, learned.ofModels);
    Disaggregation.Stages stages = two.prepared(by.disagg());
    StagePolicies made = ofRoles(by, own, regular, tiers, learned, stages).with(models.setups());
    return new Built(made, models.names(), learned, stages, own);
  }

  private StagePolicies ofRoles(
      PointsmanConfig by,
      PolicyClasses.Of own,
      PolicySetup regular,
      Tiers tiers,
      Memories learned,
      Disaggregation.@Nullable Stages stages) {
    if (stages == null) {
      return StagePolicies.same(regular);
    }
    // Prefill policies have no affinity: the prefix finds the state that a session leaves on a
    // prefill worker.
    PolicyParts ofPrefill =
        parts.remembering(by.policies().withAffinity(SessionAffinity.Mode.OFF), learned.prefill);
    PolicyParts ofDecode = parts.remembering(by.policies(), learned.decode);
    return Disaggregation.policies(
        stages,
        regular,
        name -> tiers.around(own.create(name, ofPrefill)),
        name -> tiers.around(Disaggregation.decodePolicy(stages, name, ofDecode, own::create)));
  }
}

package io.pointsman.server.wiring;

import io.pointsman.api.decisions.ShadowApi;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.control.health.Rounds;
import io.pointsman.engine.StagePolicies;
import io.pointsman.engine.policy.cost.CostSettings;
import io.pointsman.engine.shadow.ShadowPolicy;
import io.pointsman.engine.shadow.ShadowReport;
import java.time.Duration;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The shadow policy, which may begin, change and end at run time. A change of either policy begins
 * the comparison again. Thread-safe.
 */
final class Shadow implements AutoCloseable {
  /** Interval at which the shadow policy processes recorded events. */
  private static final Duration PAUSE = Duration.ofMillis(10);

  /** Memory in bytes for each of the two models that evaluate a shadow policy. */
  private static final long MODEL_BYTES = 32L << 20;

  private final EngineAssembly core;
  private final Consumer<Supplier<ShadowReport>> measure;

  /** Null without a shadow policy; replaced with the lock. */
  private volatile @Nullable Compared running;

  /** Guarded by this. */
  private boolean measured;

  /** A shadow policy with the names of both policies. */
  static final class Compared {
    private final PointsmanConfig by;
    private final ShadowPolicy policy;
    private final PolicyClasses.Of classes;
    private @Nullable Rounds rounds;

    private Compared(PointsmanConfig by, ShadowPolicy policy, PolicyClasses.Of classes) {
      this.classes = classes;
      this.by = by;
      this.policy = policy;
    }

    private void begin() {
      if (rounds != null) {
        return;
      }
      rounds = Rounds.start("shadow-policy", PAUSE, policy::work);
    }

    /** Ends the comparison. */
    void close() {
      policy.close();
      Rounds begun = rounds;
      if (begun != null) {
        begun.close();
      }
    }
  }

  /**
   * @param measure receives the metrics before the first comparison
   */
  Shadow(EngineAssembly core, Consumer<Supplier<ShadowReport>> measure) {
    this.core = core;
    this.measure = measure;
  }

  /**
   * The comparison by a configuration; the one in use if it stays the same, null if there is none.
   * It does not begin before {@link #use}.
   *
   * @throws IllegalArgumentException if the policy cannot be created
   */
  @Nullable Compared prepared(PointsmanConfig next) {
    Compared present = running;
    if (next.shadowPolicy().equals(ShadowApi.NONE)) {
      return null;
    }
    if (present != null && same(present.by, next)) {
      return present;
    }
    PolicyClasses.Of classes = core.classes.of(next.pluginDirectory());
    return new Compared(next, created(next, classes), classes);
  }

  private static boolean same(PointsmanConfig one, PointsmanConfig other) {
    return one.shadowPolicy().equals(other.shadowPolicy())
        && one.pluginDirectory().equals(other.pluginDirectory())
        && one.policy().equals(other.policy())
        && one.policies().equals(other.policies())
        && one.tiers().equals(other.tiers())
        && one.engine().equals(other.engine())
        && one.fleet().withMaxWorkers(1).equals(other.fleet().withMaxWorkers(1));
  }

  private ShadowPolicy created(PointsmanConfig by, PolicyClasses.Of classes) {
    String name = by.shadowPolicy();
    CostSettings cost = by.policies().cost();
    ShadowPolicy.Maker maker =
        (copy, own) ->
            new PreferredWorkers(copy, own.random()).of(by).around(classes.create(name, own));
    return new ShadowPolicy(
        core.fleet,
        by.fleet(),
        new ShadowPolicy.Second(maker, name.equals(by.policy())),
        core.parts.with(by.policies()),
        by.engine(),
        cost.withMaxBytes(Math.min(cost.maxBytes(), MODEL_BYTES)));
  }

  /** Ends a comparison that is not in use, or not any longer. */
  void drop(@Nullable Compared other) {
    if (other != null && other != running) {
      other.close();
    }
  }

  /** The comparison in use; null without a shadow policy. */
  @Nullable Compared present() {
    return running;
  }

  /**
   * Compares from here on with this one. {@link #around} then gives other policies. The caller
   * drops the others.
   */
  synchronized void use(@Nullable Compared next) {
    Compared before = running;
    if (next != null) {
      next.classes.hold();
      next.begin();
      if (!measured) {
        measured = true;
        measure.accept(this::report);
      }
    }
    running = next;
    if (before != null) {
      before.classes.release();
    }
  }

  private ShadowReport report() {
    Compared present = running;
    return present == null ? ShadowReport.NOTHING : present.policy.report();
  }

  /** The newest results; null without a shadow policy. */
  ShadowApi.@Nullable Comparison comparison() {
    Compared present = running;
    return present == null
        ? null
        : new ShadowApi.Comparison(
            present.by.policy(), present.by.shadowPolicy(), present.policy.report());
  }

  /** Name of the shadow policy; null if there is none. */
  @Nullable String name() {
    Compared present = running;
    return present == null ? null : present.by.shadowPolicy();
  }

  /** The policies with the shadow policy as their observer, if there is one. */
  StagePolicies around(StagePolicies policies) {
    Compared present = running;
    return present == null ? policies : policies.each(setup -> setup.withAnswers(present.policy));
  }

  @Override
  public void close() {
    Compared last = running;
    use(null);
    drop(last);
  }
}

package io.pointsman.engine.policy.tier;

import io.pointsman.engine.env.RandomSource;
import io.pointsman.engine.policy.Learner;
import io.pointsman.engine.policy.Policy;
import io.pointsman.engine.policy.catalog.PolicySetup;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Wraps policies in the configured preferences: adapters outermost, then locality, then the policy.
 */
public final class Tiers {
  private final LocalitySettings locality;
  private final AdapterSettings adapterSettings;
  private final @Nullable AdapterTable adapters;
  private final RandomSource random;

  /**
   * @param adapters the holders of adapters; null to treat adapter requests like others
   */
  public Tiers(
      LocalitySettings locality,
      AdapterSettings adapterSettings,
      @Nullable AdapterTable adapters,
      RandomSource random) {
    this.locality = locality;
    this.adapterSettings = adapterSettings;
    this.adapters = adapters;
    this.random = random;
  }

  /** Returns {@code setup} with the configured preferences; the same object if there are none. */
  public PolicySetup around(PolicySetup setup) {
    if (!locality.enabled() && adapters == null) {
      return setup;
    }
    Policy policy = setup.policy();
    if (locality.enabled()) {
      policy = new LocalityPolicy(policy, locality);
    }
    List<Learner> learners = new ArrayList<>(setup.learners());
    if (adapters != null) {
      policy = new AdapterPolicy(policy, adapters, adapterSettings, random);
      learners.add(adapters);
    }
    return new PolicySetup(
        policy,
        learners,
        setup.answerLearners(),
        setup.sessions(),
        setup.prefixes(),
        setup.insight(),
        setup.wanted());
  }
}

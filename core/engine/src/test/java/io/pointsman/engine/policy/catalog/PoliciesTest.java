package io.pointsman.engine.policy.catalog;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.pointsman.engine.TestFleet;
import io.pointsman.engine.policy.cache.CacheAwareSettings;
import io.pointsman.engine.policy.cost.CostSettings;
import java.time.Duration;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class PoliciesTest {
  private final TestFleet fleet = new TestFleet();
  private final PolicyParts parts =
      new PolicyParts(fleet.clock::nanos, fleet.random, 64, PolicySettings.DEFAULTS);

  @Test
  void namesAreTheFlagValues() {
    assertThat(Policies.names())
        .isSorted()
        .contains(
            "consistent_hash",
            "cost",
            "least_load",
            "power_of_two",
            "random",
            "rendezvous_hash",
            "round_robin",
            "sticky_least_loaded");
  }

  @Test
  void eachNameIsTheStemOfItsClass() {
    for (String name : Policies.names()) {
      String stem =
          Stream.of(name.split("_", -1))
              .map(word -> word.substring(0, 1).toUpperCase(Locale.ROOT) + word.substring(1))
              .collect(Collectors.joining());

      assertThat(Policies.create(name, parts).policy().getClass().getSimpleName())
          .isEqualTo(stem + "Policy");
    }
  }

  @Test
  void unknownPolicyIsRefusedByName() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Policies.create("kv_unaware", parts))
        .withMessageStartingWith("policy: kv_unaware (expected: one of ")
        .withMessageContaining(String.join(", ", Policies.names()));
  }

  @Test
  void onlyAPolicyWithSessionsExposesThem() {
    PolicySetup sticky = Policies.create("sticky_least_loaded", parts);
    assertThat(sticky.sessions()).isNotNull();
    assertThat(sticky.learners()).containsExactly(sticky.sessions());

    assertThat(Policies.create("round_robin", parts).sessions()).isNull();
  }

  @Test
  void defaultsEqualTheDocumentation() {
    assertThat(PolicySettings.DEFAULTS)
        .isEqualTo(
            new PolicySettings(160, 0, CacheAwareSettings.DEFAULTS, Duration.ofHours(2), 100_000));
    assertThat(CacheAwareSettings.DEFAULTS)
        .returns(0.3, CacheAwareSettings::cacheThreshold)
        .returns(64, CacheAwareSettings::balanceAbsThreshold)
        .returns(1.5, CacheAwareSettings::balanceRelThreshold);
    assertThat(CostSettings.DEFAULTS).isEqualTo(new CostSettings(400_000, 8192, 0.2, 1, 128 << 20));
  }

  @Test
  void settingsOutOfRangeAreRefusedByName() {
    assertRefused("virtualNodes: 0 (expected: 1 to 10000)", () -> settings(0, 0, 1, 1));
    assertRefused(
        "hashLoadFactor: 0.5 (expected: >= 1, or 0 for no bound)", () -> settings(1, 0.5, 1, 1));
    assertRefused(
        "hashLoadFactor: NaN (expected: >= 1, or 0 for no bound)",
        () -> settings(1, Double.NaN, 1, 1));
    assertRefused("sessionTtl: PT0S (expected: > 0)", () -> settings(1, 0, 0, 1));
    assertRefused("maxSessions: 0 (expected: >= 1)", () -> settings(1, 0, 1, 0));
    assertRefused(
        "cacheThreshold: 1.5 (expected: 0 to 1)",
        () -> new CacheAwareSettings(1.5, 64, 1.5, 1 << 20));
    assertRefused("kvTokens: 0 (expected: >= 1024)", () -> new CostSettings(0, 1, 0, 0, 1 << 20));
    assertRefused("stepTokens: 0 (expected: >= 1)", () -> new CostSettings(1024, 0, 0, 0, 1 << 20));
    assertRefused(
        "priceFloor: -1.0 (expected: >= 0)", () -> new CostSettings(1024, 1, -1, 0, 1 << 20));
    assertRefused(
        "tieMillis: NaN (expected: >= 0)", () -> new CostSettings(1024, 1, 0, Double.NaN, 1 << 20));
    assertRefused("maxBytes: 1 (expected: >= 2097152)", () -> new CostSettings(1024, 1, 0, 0, 1));
    assertRefused(
        "balanceRelThreshold: 0.5 (expected: >= 1)",
        () -> new CacheAwareSettings(0.5, 64, 0.5, 1 << 20));
  }

  private static PolicySettings settings(int nodes, double factor, int ttlSeconds, int sessions) {
    return new PolicySettings(
        nodes, factor, CacheAwareSettings.DEFAULTS, Duration.ofSeconds(ttlSeconds), sessions);
  }

  private static void assertRefused(String message, Runnable settings) {
    assertThatIllegalArgumentException().isThrownBy(settings::run).withMessage(message);
  }
}

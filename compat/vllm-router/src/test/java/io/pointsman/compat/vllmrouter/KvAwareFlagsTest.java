package io.pointsman.compat.vllmrouter;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.pointsman.config.ConfigException;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.settings.KvEventSettings;
import io.pointsman.engine.kv.KvCredits;
import io.pointsman.engine.policy.catalog.PolicySettings;
import io.pointsman.engine.policy.kv.KvAwareSettings;
import io.pointsman.engine.policy.session.SessionAffinity.Mode;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class KvAwareFlagsTest {
  private static final String PAIR =
      "--vllm-pd-disaggregation --prefill http://p:1 --decode http://d:1 ";

  private static PointsmanConfig config(String line) {
    return PointsmanConfig.from(
        VllmRouterLauncher.translate(List.of(line.split(" ", -1)), Map.of()));
  }

  private static List<String> refused(String line) {
    return assertThatExceptionOfType(ConfigException.class)
        .isThrownBy(() -> config(line))
        .actual()
        .problems();
  }

  @Test
  void policyAndItsParametersAreTranslated() {
    PointsmanConfig config =
        config(
            "--policy kv_aware --router-temperature 2.5 --kv-penalty-host 0.7"
                + " --kv-penalty-external=0.2 --router-kv-penalty-disk 0");
    assertThat(config.policy()).isEqualTo("kv_aware");
    assertThat(config.policies().kvAware())
        .isEqualTo(
            new KvAwareSettings(
                2.5, new KvCredits(0.7, 0.2, 0), KvAwareSettings.DEFAULTS.maxIndexBytes()));
    assertThat(config.policies().affinity()).isEqualTo(Mode.OFF);
  }

  @Test
  void defaultsAreThoseOfTheOriginal() {
    assertThat(config("--policy kv_aware").policies()).isEqualTo(PolicySettings.DEFAULTS);
  }

  @Test
  void stagesTakeThePolicyToo() {
    PointsmanConfig config = config(PAIR + "--prefill-policy kv_aware --decode-policy random");
    assertThat(config.disagg().prefillPolicy()).isEqualTo("kv_aware");
    assertThat(config.disagg().decodePolicy()).isEqualTo("random");
  }

  @Test
  void affinityIsHardButSoftForDecodeWorkers() {
    PolicySettings regular =
        config("--policy kv_aware --kv-aware-session-affinity-ttl-secs 90").policies();
    assertThat(regular.affinity()).isEqualTo(Mode.HARD);
    assertThat(regular.sessionTtl()).isEqualTo(Duration.ofSeconds(90));

    PolicySettings stages =
        config(PAIR + "--policy kv_aware --kv-aware-session-affinity-ttl-secs 90").policies();
    assertThat(stages.affinity()).isEqualTo(Mode.SOFT);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "--policy kv_aware --router-temperature -1",
        "--policy kv_aware --kv-penalty-host 1.5",
        "--policy kv_aware --kv-penalty-disk x",
        "--policy kv_aware --kv-aware-session-affinity-ttl-secs 0",
        "--policy kv_aware --kv-aware-session-affinity-ttl-secs 31536001",
        "--policy random --kv-aware-session-affinity-ttl-secs 60",
        PAIR + "--policy random --kv-aware-session-affinity-ttl-secs 60"
      })
  void invalidFlagsAreRefused(String line) {
    assertThat(refused(line)).hasSize(1);
  }

  @Test
  void enginesWithoutAFlagAreQueriedForTheirPublishers() {
    PointsmanConfig config =
        config(
            "--policy kv_aware --worker-urls http://a:1 http://b:2 --kv-event-source"
                + " http://a:1/=tcp://a:5557,tcp://*:5558 --kv-event-replay-source"
                + " http://a:1=tcp://a:6557,tcp://*:6558 --kv-event-block-size 32");
    assertThat(config.kvEvents().mode()).isEqualTo(KvEventSettings.Mode.AUTO);
    assertThat(config.workers().getFirst().labels())
        .containsEntry("kv-events", "tcp://a:5557 tcp://*:5558")
        .containsEntry("kv-events-replay", "tcp://a:6557 tcp://*:6558");
    assertThat(config.workers().getLast().labels()).isEmpty();
    assertThat(config("--policy random --worker-urls http://a:1").kvEvents().mode())
        .isEqualTo(KvEventSettings.Mode.OFF);
  }

  @Test
  void publishersOfPrefillEnginesAreTranslated() {
    PointsmanConfig config =
        config(PAIR + "--prefill-policy kv_aware --pd-kv-events http://p:1=tcp://p:5557");
    assertThat(config.kvEvents().mode()).isEqualTo(KvEventSettings.Mode.AUTO);
    assertThat(config.workers())
        .anySatisfy(
            worker -> assertThat(worker.labels()).containsEntry("kv-events", "tcp://p:5557"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "--policy random --worker-urls http://a:1 --kv-event-source http://a:1=tcp://a:1",
        "--policy kv_aware --worker-urls http://a:1 --kv-event-source http://b:1=tcp://a:1",
        "--policy kv_aware --worker-urls http://a:1 --kv-event-source http://a:1=ipc://x",
        "--policy kv_aware --worker-urls http://a:1 --kv-event-source tcp://a:1",
        "--policy kv_aware --worker-urls http://a:1 --kv-event-source http://a:1=tcp://a:1"
            + " --kv-event-replay-source http://a:1=tcp://a:2,tcp://a:3"
      })
  void unusablePublishersAreRefused(String line) {
    assertThat(refused(line)).hasSize(1);
  }

  @Test
  void refusalNamesTheFlagThatWasGiven() {
    assertThat(refused(PAIR + "--pd-kv-events http://p:1=tcp://p:5557"))
        .containsExactly(
            "--pd-kv-events: http://p:1 (expected: with kv_aware as --policy, --prefill-policy or"
                + " --decode-policy)");
    assertThat(
            refused(
                "--policy kv_aware --worker-urls http://a:1 --kv-event-source"
                    + " http://b:1=tcp://b:2"))
        .containsExactly("--kv-event-source: http://b:1 (expected: the URL of a worker)");
  }
}

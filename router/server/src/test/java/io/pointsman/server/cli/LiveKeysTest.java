package io.pointsman.server.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.config.ConfigValues;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.RestartReasons;
import io.pointsman.config.YamlConfig;
import io.pointsman.config.key.DisaggKeys;
import io.pointsman.config.key.FleetKeys;
import io.pointsman.config.key.ForwardKeys;
import io.pointsman.config.key.FrontKeys;
import io.pointsman.config.key.Key;
import io.pointsman.config.key.OperationKeys;
import io.pointsman.config.key.PeerKeys;
import io.pointsman.config.key.ServerTlsKeys;
import java.util.List;
import org.junit.jupiter.api.Test;

class LiveKeysTest {
  private static final String NIXL = "disaggregation: {protocol: nixl}";

  private static boolean canChange(Key<?> key, String before, String next) {
    ConfigValues present = YamlConfig.parse("test", before);
    return LiveKeys.canChange(
        PointsmanConfig.from(present), present, key, YamlConfig.parse("test", next));
  }

  @Test
  void aProtocolWithRegistrationsChanges() {
    String other = "disaggregation: {protocol: moriio, registration-address: 'h:1'}";
    assertThat(canChange(PeerKeys.REGISTRATION_ADDRESS, NIXL, other)).isTrue();
    assertThat(canChange(DisaggKeys.PROTOCOL, NIXL, other)).isTrue();
  }

  @Test
  void aProtocolWithTheSameListenersChanges() {
    assertThat(canChange(DisaggKeys.PROTOCOL, NIXL, "disaggregation: {protocol: mooncake}"))
        .isTrue();
  }

  private static List<String> fixed(String before, String next, Key<?>... changed) {
    ConfigValues present = YamlConfig.parse("test", before);
    return LiveKeys.fixed(
            PointsmanConfig.from(present),
            present,
            List.of(changed),
            YamlConfig.parse("test", next))
        .stream()
        .map(Key::path)
        .toList();
  }

  /** The key alone is invalid, so only the other changes show that it needs a restart. */
  @Test
  void aKeyThatNeedsARestartWithOthersIsNamed() {
    String batches = "batch: {enabled: true, directory: none}\n";
    String tls =
        batches
            + "tls: {certificate-file: a.crt, client-ca-file: ca.crt,"
            + " client-certificates: optional}\n";
    ServerTlsKeys keys = ServerTlsKeys.CLIENTS;
    Key<?>[] changed = {keys.certificateFile(), keys.clientCaFile(), keys.clientCertificates()};
    assertThat(fixed(batches, tls, changed)).containsExactly("tls.client-ca-file");

    Key<?>[] more = {OperationKeys.THREADS, changed[0], changed[1], changed[2]};
    assertThat(fixed(batches, tls + "event-loop-threads: 7\n", more))
        .containsExactly("event-loop-threads", "tls.client-ca-file");
  }

  /** The tables of a router that started with more workers stay large, and so does its bound. */
  @Test
  void theNumberOfWorkersChangesUpToTheSlots() {
    String many = "max-workers: 20000\n";
    assertThat(canChange(FleetKeys.MAX_WORKERS, "max-workers: 7\n", "")).isTrue();
    assertThat(canChange(FleetKeys.MAX_WORKERS, many, "max-workers: 7\n")).isTrue();
    assertThat(canChange(FleetKeys.MAX_WORKERS, "", many)).isFalse();
    assertThat(fixed("", many, FleetKeys.MAX_WORKERS)).containsExactly("max-workers");
    assertThat(RestartReasons.why(FleetKeys.MAX_WORKERS))
        .isEqualTo("tables for more than 16,384 workers are made at the start");
  }

  @Test
  void nioKeepsTheBacklog() {
    String more = "listen: {backlog: 7}\n";
    assertThat(canChange(FrontKeys.BACKLOG, "", more)).isTrue();
    String nio = "transport: nio\n";
    assertThat(canChange(FrontKeys.BACKLOG, nio, nio + more)).isFalse();
    assertThat(fixed(nio, nio + more, FrontKeys.BACKLOG)).containsExactly("listen.backlog");
    assertThat(RestartReasons.why(FrontKeys.BACKLOG)).contains("nio");
    assertThat(LiveKeys.needRestart(YamlConfig.parse("test", nio + more)))
        .containsExactlyInAnyOrder("transport", "listen.backlog");
  }

  @Test
  void aLiveKeyThatIsInvalidWithoutOthersChanges() {
    String next = "retry: {initial-backoff: 10ms, max-backoff: 50ms}";
    assertThat(canChange(ForwardKeys.RETRY_MAX_BACKOFF, "", next)).isTrue();
  }
}

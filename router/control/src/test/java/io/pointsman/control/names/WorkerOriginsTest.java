package io.pointsman.control.names;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.config.settings.WorkerNetworks;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.proxy.upstream.EngineKeys;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class WorkerOriginsTest {
  private final List<WorkerSpec> configured =
      new ArrayList<>(List.of(WorkerSpec.of("http://Engine.example:8000/v1")));

  private final WorkerOrigins origins =
      new WorkerOrigins(
          new WorkerNetworks(List.of("10.0.0.0/8")), List.of("https://10.0.0.7"), () -> configured);

  @Test
  void otherRulesApplyToWorkersThatAreAddedLater() {
    origins.use(new WorkerNetworks(List.of("192.168.0.0/16")), List.of("http://192.168.0.1:80"));

    assertThat(origins.refusal("http://10.0.0.1:8000")).isNotNull();
    assertThat(origins.refusal("http://192.168.0.1")).isNull();
    assertThat(origins.inNetworks("10.0.0.1")).isFalse();
    assertThat(origins.inNetworks("192.168.0.1")).isTrue();
    EngineKeys keys = EngineKeys.of("all");
    assertThat(keys.of(origins.restricted(WorkerSpec.of("https://10.0.0.7")))).isNull();
    assertThat(keys.of(origins.restricted(WorkerSpec.of("http://192.168.0.1")))).isEqualTo("all");
  }

  @ParameterizedTest
  @CsvSource({
    "http://10.0.0.1:8000, true",
    "http://engine.example:9000, true",
    "http://[::1]:8000, false",
    "http://127.0.0.1:8000, false",
    "https://attacker.example, false",
    "http://engine.example.attacker.example:8000, false"
  })
  void onlyListedAndConfiguredHostsAreAdmitted(String url, boolean admitted) {
    assertThat(origins.refusal(url) == null).isEqualTo(admitted);
    if (!admitted) {
      assertThat(origins.refusal(url)).contains(url, "admin.worker-networks");
    }
  }

  @ParameterizedTest
  @CsvSource({
    "http://engine.example:8000, true",
    "http://ENGINE.example:8000/other, true",
    "http://engine.example:8001, false",
    "https://engine.example:8000, false",
    "https://10.0.0.7, true",
    "https://10.0.0.7:443/v1, true",
    "http://10.0.0.7:443, false",
    "http://10.0.0.8:8000, false"
  })
  void onlyConfiguredOriginsGetTheKey(String url, boolean gets) {
    WorkerSpec added = origins.restricted(WorkerSpec.of(url).withLabels(Map.of("zone", "a")));

    EngineKeys keys = new EngineKeys("all", "ours", null);
    assertThat(keys.of(added)).isEqualTo(gets ? "all" : null);
    assertThat(keys.of(added.withRole(Role.PREFILL))).isEqualTo(gets ? "ours" : null);
    assertThat(added.labels()).containsEntry("zone", "a");
  }

  @Test
  void aReloadedConfigurationCounts() {
    configured.set(0, WorkerSpec.of("http://other.example:1"));

    assertThat(origins.refusal("http://other.example:2")).isNull();
    assertThat(origins.refusal("http://engine.example:8000")).isNotNull();
  }
}

package io.pointsman.control.kvevents;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.config.settings.KvEventSettings.Mode;
import io.pointsman.control.health.EngineClient;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.testkit.FakeClock;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SourceFinderTest {
  private static final String SGLANG =
      "{\"kv_events_config\":\"{\\\"publisher\\\":\\\"zmq\\\",\\\"endpoint\\\":\\\"tcp://*:5557\\\"}\"}";

  private final Worker worker =
      new Fleet(FleetSettings.DEFAULTS, new FakeClock()::nanos).add(WorkerSpec.of("http://a:1"));

  /** The sources found if the engine responds with these statuses in order. */
  private List<SourceSpec> found(Integer... statuses) throws IOException {
    Deque<Integer> answers = new ArrayDeque<>(Arrays.asList(statuses));
    SourceFinder finder =
        new SourceFinder(
            Listening.settings(Mode.AUTO, ""),
            (_, _, _) -> new EngineClient.Answer(answers.removeFirst(), SGLANG.getBytes(UTF_8)),
            _ -> false);
    List<SourceSpec> sources = finder.find(worker);
    assertThat(answers).isEmpty();
    return sources;
  }

  @Test
  void sglangOfAnyVersionReportsItsPublisher() throws IOException {
    assertThat(found(404, 200)).hasSize(1);
    assertThat(found(404, 404, 200)).hasSize(1);
    assertThat(found(404, 405, 200)).hasSize(1);
  }

  private List<SourceSpec> named(String events, String replay) throws IOException {
    String body =
        "{\"0\":{\"endpoint\":\"tcp://%s:5557\",\"replay_endpoint\":\"tcp://%s:5558\"}}"
            .formatted(events, replay);
    return new SourceFinder(
            Listening.settings(Mode.AUTO, ""),
            (_, _, _) -> new EngineClient.Answer(200, body.getBytes(UTF_8)),
            "10.0.0.7"::equals)
        .find(worker);
  }

  @Test
  void anEngineCannotMakeTheRouterConnectToAnyHost() throws IOException {
    assertThat(named("*", "*")).hasSize(1);
    assertThat(named("a", "A")).hasSize(1);
    assertThat(named("10.0.0.7", "*")).hasSize(1);
    for (String host : List.of("169.254.169.254", "other.example", "10.0.0.8")) {
      assertThatThrownBy(() -> named(host, "*"))
          .isInstanceOf(IOException.class)
          .hasMessageContaining("names " + host);
      assertThatThrownBy(() -> named("*", host))
          .isInstanceOf(IOException.class)
          .hasMessageContaining("names " + host);
    }
  }

  @Test
  void anEngineWithoutAnyOfThePathsHasNoPublishers() throws IOException {
    assertThat(found(404, 404, 404)).isEmpty();
    assertThat(found(405, 501, 404)).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(ints = {401, 429, 500, 502, 503})
  void anEngineThatFailsTemporarilyStillHasPublishers(int status) {
    assertThatThrownBy(() -> found(404, status))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("/server_info")
        .hasMessageContaining("status " + status);
    assertThatThrownBy(() -> found(404, 404, status))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("/get_server_info")
        .hasMessageContaining("status " + status);
  }
}

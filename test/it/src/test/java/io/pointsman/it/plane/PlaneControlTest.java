package io.pointsman.it.plane;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.api.admin.ControlPath;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.it.support.ControlledEngine;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Control calls of clients of an external proxy: it refuses them, as the router does. */
@ParameterizedClass
@EnumSource(PlaneRig.Way.class)
@Timeout(300)
@Tag("full")
final class PlaneControlTest {
  private final PlaneRig rig;
  private final PlaneRig.Way way;

  PlaneControlTest(PlaneRig.Way way) {
    this.way = way;
    rig = new PlaneRig(way);
  }

  @AfterEach
  void close() {
    rig.close();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/sleep",
        "/sleep?level=1",
        "/%73leep",
        "/SLEEP",
        "/sleep/",
        "//sleep",
        "/sleep;x",
        "/v1%2Fload_lora_adapter",
        "/adapters/sql",
        "/metrics",
        "/metricsx",
        "/metrics/x",
        "/metrics/../v1/other",
        "/metrics/%2e%2E/v1/other",
        "/workers"
      })
  void clientsCannotControlEngines(String target) throws Exception {
    ControlledEngine engine = new ControlledEngine(PlaneRig.MODEL, true);
    rig.worker(WorkerSpec.of(rig.opened(ScriptedEngine.start(engine)).url()));
    rig.router("round_robin");
    rig.carrier();

    HttpAnswer answer = RawClient.call(rig.port(), "POST", target, "");

    assertThat(answer.status()).as(answer.text()).isEqualTo(404);
    assertThat(answer.text()).contains("admin_path");
    assertThat(engine.asleep()).isFalse();
    assertThat(engine.adapters()).isEmpty();
    assertThat(rig.send(PlaneRig.completion("p")).status()).isEqualTo(200);
  }

  @ParameterizedTest
  @ValueSource(strings = {"/sleep%0A", "/sleep%0d%0a", "/sleep%00"})
  void encodedControlCharactersAreMalformed(String target) throws Exception {
    ControlledEngine engine = new ControlledEngine(PlaneRig.MODEL, true);
    rig.worker(WorkerSpec.of(rig.opened(ScriptedEngine.start(engine)).url()));
    rig.router("round_robin");
    rig.carrier();

    HttpAnswer answer = RawClient.call(rig.port(), "POST", target, "");

    assertThat(answer.status()).as(answer.text()).isEqualTo(400);
    assertThat(engine.asleep()).isFalse();
  }

  /** Engines decode the rest of such a path. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "/metrics%",
        "/metrics%z",
        "/metrics/%zz",
        "/metrics/%",
        "/adapters/sql%",
        "/%73leep/%2"
      })
  void invalidEscapesOpenNoClosedPath(String target) throws Exception {
    ControlledEngine engine = new ControlledEngine(PlaneRig.MODEL, true);
    ScriptedEngine started = rig.opened(ScriptedEngine.start(engine));
    rig.worker(WorkerSpec.of(started.url()));
    rig.router("round_robin");
    rig.carrier();

    HttpAnswer answer = RawClient.call(rig.port(), "POST", target, "");

    assertThat(answer.status()).as(answer.text()).isIn(400, 404);
    assertThat(started.requests()).noneMatch(request -> request.line().contains("%"));
    assertThat(rig.send(PlaneRig.completion("p")).status()).isEqualTo(200);
  }

  /** nginx's file is written by hand. */
  @Test
  void nginxRefusesEachControlPath() throws Exception {
    Path file =
        Path.of(System.getProperty("pointsman.root", ".."), "planes", "nginx", "nginx.conf");
    String location =
        Files.readAllLines(file).stream()
            .filter(line -> line.contains("location ~*"))
            .findFirst()
            .orElseThrow();
    String pattern = location.replaceAll(".*location ~\\* \"(\\S+)\" \\{", "$1");
    for (ControlPath each : ControlPath.ALL) {
      String path = each.prefix() ? each.path() + "one" : each.path();
      assertThat(path).as("%s, %s", way, each).matches(pattern);
    }
    for (String path : ControlPath.DIRECT_ONLY) {
      assertThat(path.endsWith("/") ? path + "one" : path).as("%s", way).matches(pattern);
    }
    assertThat("/metricsx").matches(pattern);
    assertThat("/v1/completions").doesNotMatch(pattern);
  }
}

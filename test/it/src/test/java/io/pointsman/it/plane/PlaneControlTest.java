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
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/** Control calls through an external proxy: they reach all engines, as without it. */
@ParameterizedClass
@EnumSource(PlaneRig.Way.class)
@Timeout(300)
@Tag("full")
final class PlaneControlTest {
  private final PlaneRig rig;
  private final PlaneRig.Way way;
  private final List<ControlledEngine> engines = new ArrayList<>();

  PlaneControlTest(PlaneRig.Way way) {
    this.way = way;
    rig = new PlaneRig(way);
  }

  @AfterEach
  void close() {
    rig.close();
  }

  @Test
  void aControlCallReachesEveryEngine() throws Exception {
    for (int i = 0; i < 3; i++) {
      ControlledEngine engine = new ControlledEngine(PlaneRig.MODEL, true);
      engines.add(engine);
      rig.worker(WorkerSpec.of(rig.opened(ScriptedEngine.start(engine)).url()));
    }
    rig.router("round_robin");
    rig.carrier();
    String adapter = "{\"lora_name\":\"sql\",\"lora_path\":\"/x\"}";
    assertThat(post("/v1/load_lora_adapter", adapter).status()).isEqualTo(200);
    assertThat(engines).allMatch(engine -> engine.adapters().contains("sql"));

    assertThat(post("/sleep?level=1", "").status()).isEqualTo(200);
    assertThat(engines).allMatch(ControlledEngine::asleep);
    assertThat(PlaneRig.get(rig.port(), "/is_sleeping").text()).contains("\"is_sleeping\":true");
    assertThat(rig.send(PlaneRig.completion("p")).status()).isEqualTo(503);

    assertThat(post("/wake_up", "").status()).isEqualTo(200);
    for (int i = 0; i < 6; i++) {
      assertThat(rig.send(PlaneRig.completion("p")).status()).isEqualTo(200);
    }
  }

  private HttpAnswer post(String target, String body) throws Exception {
    return RawClient.call(rig.port(), "POST", target, body);
  }

  /** nginx's file is written by hand. */
  @Test
  void nginxSendsEachControlPathToTheRouter() throws Exception {
    Path file =
        Path.of(System.getProperty("pointsman.root", ".."), "planes", "nginx", "nginx.conf");
    String location =
        Files.readAllLines(file).stream()
            .filter(line -> line.contains("location ~"))
            .findFirst()
            .orElseThrow();
    String pattern = location.replaceAll(".*location ~ (\\S+) \\{", "$1");
    for (ControlPath each : ControlPath.ALL) {
      String path = each.prefix() ? each.path() + "one" : each.path();
      assertThat(path).as("%s, %s", way, each).matches(pattern);
    }
    assertThat("/v1/completions").doesNotMatch(pattern);
  }
}

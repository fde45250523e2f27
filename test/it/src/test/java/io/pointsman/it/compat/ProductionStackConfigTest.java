package io.pointsman.it.compat;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.RouterProcess;
import io.pointsman.it.support.WaitFor;
import io.pointsman.testkit.engine.Faults;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The dynamic configuration and aliases of production-stack's launcher. */
@Tag("full")
@Timeout(180)
class ProductionStackConfigTest {
  @TempDir Path directory;

  private Path configure(ScriptedEngine engine, String logic, String more) throws IOException {
    return Files.writeString(
        directory.resolve("dynamic.yaml"),
        "service_discovery: static\nrouting_logic: "
            + logic
            + "\nstatic_models: m\n"
            + "static_backends: "
            + engine.url()
            + "\n"
            + more);
  }

  private static HttpAnswer ask(RouterProcess router, String model) throws IOException {
    return RawClient.call(
        router.port(), "POST", "/v1/completions", "{\"model\":\"" + model + "\",\"prompt\":\"a\"}");
  }

  private static boolean serves(RouterProcess router, String model) {
    try {
      return ask(router, model).status() == 200;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String get(RouterProcess router, String path) throws IOException {
    return RawClient.call(router.port(), "GET", path, "").text();
  }

  private static List<String> bodies(ScriptedEngine engine) {
    return engine.requests().stream()
        .filter(request -> request.line().startsWith("POST "))
        .map(request -> request.bodyText())
        .toList();
  }

  private static ScriptedEngine engine() throws IOException {
    return ScriptedEngine.start(new Faults.Healthy("m", Faults.Answer.ok()));
  }

  @Test
  void aChangedFileAppliesWhileTheRouterRuns() throws Exception {
    try (ScriptedEngine first = engine();
        ScriptedEngine second = engine();
        RouterProcess router =
            RouterProcess.startAs(
                "production-stack",
                "--dynamic-config-yaml",
                configure(first, "roundrobin", "static_aliases: gpt-4:m\n").toString(),
                "--session-key",
                "x-user")) {
      assertThat(ask(router, "gpt-4").status()).isEqualTo(200);
      assertThat(bodies(first)).containsExactly("{\"model\":\"m\",\"prompt\":\"a\"}");
      assertThat(get(router, "/v1/models")).contains("\"gpt-4\"", "\"m\"");
      assertThat(get(router, "/health"))
          .contains("\"status\":\"healthy\"", "\"static_backends\":\"" + first.url() + "\"");

      configure(second, "nothing", "");
      router.awaitOutput("not reloaded");
      configure(second, "session", "");
      router.awaitOutput("changed: ");
      configure(second, "session", "session_key: other\nstatic_aliases: {g: m}\n");
      WaitFor.until(
          "the second serves by the new alias",
          WaitFor.LONG,
          () -> serves(router, "g") && !bodies(second).isEmpty());
      assertThat(ask(router, "gpt-4").status()).isEqualTo(404);
      assertThat(get(router, "/health"))
          .contains(second.url(), "\"static_aliases\":\"g:m\"", "\"session_key\":\"x-user\"");
      router.verify();
    }
  }
}

package io.pointsman.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.proxy.local.CallerCheck;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.local.LocalRoutes;
import io.pointsman.testkit.engine.EngineScript;
import io.pointsman.testkit.engine.ScriptedEngine;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Every request leaves exactly one report, with the values that a log needs. */
@SuppressWarnings({"StringConcatToTextBlock", "try"}) // line ends matter; tests may be interrupted
@Timeout(60)
class RequestReportTest {
  private static final LocalRoutes ROUTES =
      LocalRoutes.builder().on("POST", "/own", _ -> LocalResponse.text(200, "ok")).build();

  private static ProxyRig rig() throws Exception {
    return new ProxyRig(Transport.NIO, ProxySettings.DEFAULTS, ROUTES);
  }

  private static void awaitLine(ProxyRig rig, String line) {
    ProxyRig.await("a line", () -> !rig.lines.isEmpty());
    assertThat(rig.lines).containsExactly(line);
    rig.lines.clear();
  }

  @Test
  void answersOfTheRouterAreReportedWithTheirReasons() throws Exception {
    try (ProxyRig rig = rig()) {
      rig.ask(ProxyRig.post("/own", "x"));
      awaitLine(rig, "127.0.0.1 POST /own 200 null -1");
      rig.ask("GET /own HTTP/1.1\r\nhost: r\r\n\r\n");
      awaitLine(rig, "127.0.0.1 GET /own 405 method_not_allowed -1");
      rig.ask("TRACE / HTTP/1.1\r\nhost: r\r\n\r\n");
      awaitLine(rig, "127.0.0.1 TRACE / 405 method_not_allowed -1");
      rig.ask("GET /x HTTP/1.1\r\nhost: r\r\nhost: r\r\n\r\n");
      awaitLine(rig, "127.0.0.1 GET /x 400 malformed_request -1");
      rig.ask("GET /no-worker?key=k HTTP/1.1\r\nhost: r\r\n\r\n");
      awaitLine(rig, "127.0.0.1 GET /no-worker?key=k 503 no_workers -1");
    }
  }

  @Test
  void aRefusedKeyIsReported() throws Exception {
    try (ProxyRig rig = rig()) {
      rig.callers = CallerCheck.NOBODY;
      rig.ask("GET /v1/models HTTP/1.1\r\nhost: r\r\nauthorization: Bearer k\r\n\r\n");
      awaitLine(rig, "127.0.0.1 GET /v1/models 401 invalid_api_key -1");
    }
  }

  @Test
  void anAnswerOfAWorkerIsReportedWithItsTokensIfTheyAreRead() throws Exception {
    String body = "{\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":5},\"id\":\"a\"}";
    EngineScript script =
        (request, connection) ->
            connection.reply(
                request.line().contains("missing") ? 404 : 200, "application/json", body);
    try (ProxyRig rig = rig();
        ScriptedEngine engine = ScriptedEngine.start(script)) {
      rig.readsUsage = true;
      rig.worker(engine.url());
      rig.ask(ProxyRig.post("/v1/embeddings", "{\"model\":\"m\",\"input\":\"x\"}"));
      awaitLine(rig, "127.0.0.1 POST /v1/embeddings 200 null 5");
      rig.ask("GET /missing HTTP/1.1\r\nhost: r\r\n\r\n");
      awaitLine(rig, "127.0.0.1 GET /missing 404 null -1");
    }
  }

  @Test
  void aBrokenAnswerHasAReason() throws Exception {
    try (ProxyRig rig = rig();
        ScriptedEngine engine =
            ScriptedEngine.start((request, connection) -> connection.send("nonsense\r\n\r\n"))) {
      rig.worker(engine.url());
      assertThat(rig.ask(ProxyRig.post("/v1/completions", "{\"model\":\"m\"}")).status())
          .isEqualTo(502);
      awaitLine(rig, "127.0.0.1 POST /v1/completions 502 upstream_protocol -1");
    }
  }
}

package io.pointsman.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.proxy.settings.CorsSettings;
import io.pointsman.proxy.settings.LimitSettings;
import io.pointsman.proxy.settings.LimitSettings.Strictness;
import io.pointsman.testkit.engine.Faults.Answer;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Requests that are refused as vllm-router refuses them. */
@SuppressWarnings({"StringConcatToTextBlock", "try"}) // line ends matter; tests may be interrupted
@Timeout(60)
class StrictnessTest {
  private static ProxySettings strict(boolean methods, boolean bodies) {
    return strict(new Strictness(methods, false, bodies));
  }

  private static ProxySettings strict(Strictness strictness) {
    return ProxySettings.DEFAULTS
        .withLimits(LimitSettings.DEFAULTS.withStrictness(strictness))
        .withCors(new CorsSettings(true, List.of()));
  }

  @ParameterizedTest
  @ValueSource(strings = {"OPTIONS", "BREW", "PROPFIND"})
  void otherMethodsAre405(String method) throws Exception {
    String request = method + " /v1/any HTTP/1.1\r\nhost: r\r\n\r\n";
    try (ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      try (ProxyRig rig = new ProxyRig(Transport.AUTO, strict(true, false))) {
        rig.worker(engine.url());
        WireResponse response = rig.ask(request);
        assertThat(response.status()).isEqualTo(405);
        assertThat(response.header("allow")).isEqualTo("GET, HEAD, POST, PUT, PATCH, DELETE");
        assertThat(engine.requests()).isEmpty();
        assertThat(rig.ask("PATCH /v1/any HTTP/1.1\r\nhost: r\r\n\r\n").status()).isEqualTo(200);
      }
      try (ProxyRig rig = new ProxyRig(Transport.AUTO, ProxySettings.DEFAULTS)) {
        rig.worker(engine.url());
        assertThat(rig.ask(request).status()).isEqualTo(200);
      }
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "/v1/chat/completions|POST",
        "/v1/chat/completions/|POST",
        "//v1/completions|POST",
        "/v1/responses|POST",
        "/v1/embeddings|POST",
        "/v1/rerank|POST",
        "/rerank|POST",
        "/generate|POST",
        "/inference/v1/generate|POST",
        "/v1/models|GET, HEAD",
        "/health_generate|GET, HEAD",
        "/get_model_info|GET, HEAD",
        "/get_server_info|GET, HEAD",
        "/v1/responses/r1|GET, HEAD, DELETE",
        "/v1/responses/r1/cancel|POST",
        "/v1/responses/r1/input|GET, HEAD",
        "/v1/responses/r1/other|GET, HEAD, POST, PUT, PATCH, DELETE",
        "/v1/any|GET, HEAD, POST, PUT, PATCH, DELETE",
        "/v1/messages|GET, HEAD, POST, PUT, PATCH, DELETE"
      })
  void knownRoutesHaveTheirMethods(String path, String allowed) throws Exception {
    Set<String> methods = Set.of(allowed.split(", ", -1));
    try (ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      try (ProxyRig rig = new ProxyRig(Transport.AUTO, strict(true, false))) {
        rig.worker(engine.url());
        for (String method : List.of("GET", "PUT", "PATCH", "DELETE")) {
          WireResponse response = rig.ask(method + " " + path + " HTTP/1.1\r\nhost: r\r\n\r\n");
          assertThat(response.status()).as(method).isEqualTo(methods.contains(method) ? 200 : 405);
          if (response.status() == 405) {
            assertThat(response.header("allow")).isEqualTo(allowed);
          }
        }
        assertThat(engine.requests())
            .hasSize(
                methods.size()
                    - (methods.contains("HEAD") ? 1 : 0)
                    - (methods.contains("POST") ? 1 : 0));
      }
      try (ProxyRig rig = new ProxyRig(Transport.AUTO, ProxySettings.DEFAULTS)) {
        rig.worker(engine.url());
        assertThat(rig.ask("PUT " + path + " HTTP/1.1\r\nhost: r\r\n\r\n").status())
            .as("without the setting")
            .isEqualTo(200);
      }
    }
  }

  @Test
  void otherPathsTakePostAloneIfConfigured() throws Exception {
    try (ScriptedEngine engine = ScriptedEngine.start(Answer.ok());
        ProxyRig rig = new ProxyRig(Transport.AUTO, strict(new Strictness(true, true, false)))) {
      rig.worker(engine.url());
      for (String method : List.of("GET", "HEAD", "PUT", "PATCH", "DELETE")) {
        WireResponse response = rig.ask(method + " /v1/any HTTP/1.1\r\nhost: r\r\n\r\n");
        assertThat(response.status()).as(method).isEqualTo(405);
        assertThat(response.header("allow")).isEqualTo("POST");
      }
      assertThat(engine.requests()).isEmpty();
      assertThat(rig.ask(ProxyRig.post("/v1/any", "{}")).status()).isEqualTo(200);
      assertThat(rig.ask("GET /v1/models HTTP/1.1\r\nhost: r\r\n\r\n").status()).isEqualTo(200);
    }
  }

  @Test
  void preflightRequestsAreStillAnswered() throws Exception {
    try (ScriptedEngine engine = ScriptedEngine.start(Answer.ok());
        ProxyRig rig = new ProxyRig(Transport.AUTO, strict(true, false))) {
      rig.worker(engine.url());
      WireResponse response =
          rig.ask(
              "OPTIONS /v1/chat/completions HTTP/1.1\r\nhost: r\r\norigin: https://a.example\r\n"
                  + "access-control-request-method: POST\r\n\r\n");
      assertThat(response.status()).isEqualTo(204);
      assertThat(response.header("access-control-allow-origin")).isEqualTo("*");
    }
  }

  @Test
  void bodiesAreCheckedOnlyIfConfigured() throws Exception {
    String body = "{\"model\":\"m\",\"messages\":[{\"role\":\"guest\"}]}";
    try (ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      try (ProxyRig rig = new ProxyRig(Transport.AUTO, strict(false, true))) {
        rig.worker(engine.url());
        WireResponse response = rig.ask(ProxyRig.post("/v1/chat/completions", body));
        assertThat(response.status()).isEqualTo(422);
        assertThat(response.text()).contains("\"code\":\"unprocessable_body\"", "messages");
        assertThat(
                rig.ask(ProxyRig.post("/v1/rerank", "{\"query\":\"\",\"documents\":[]}")).status())
            .isEqualTo(400);
        assertThat(engine.requests()).isEmpty();
      }
      try (ProxyRig rig = new ProxyRig(Transport.AUTO, ProxySettings.DEFAULTS)) {
        rig.worker(engine.url());
        assertThat(rig.ask(ProxyRig.post("/v1/chat/completions", body)).status()).isEqualTo(200);
      }
    }
  }

  @Test
  void rerankAnswersGetTheForm() throws Exception {
    String body = "{\"model\":\"m\",\"query\":\"q\",\"documents\":[\"a\"]}";
    Answer vllm =
        new Answer(
            200,
            "{\"id\":\"r\",\"results\":[{\"index\":0,\"document\":{\"text\":\"a\"},"
                + "\"relevance_score\":0.5}]}");
    try (ScriptedEngine engine = ScriptedEngine.start(vllm)) {
      try (ProxyRig rig = new ProxyRig(Transport.AUTO, strict(false, true))) {
        rig.worker(engine.url());
        assertThat(rig.ask(ProxyRig.post("/v1/rerank", body)).text())
            .startsWith(
                "{\"results\":[{\"score\":0.5,\"document\":\"a\",\"index\":0}],\"model\":\"m\"")
            .contains("\"object\":\"rerank\"");
        engine.now(new Answer(500, "{\"results\":[]}"));
        assertThat(rig.ask(ProxyRig.post("/v1/rerank", body)).text())
            .as("an error of the engine")
            .isEqualTo("{\"results\":[]}");
      }
      engine.now(vllm);
      try (ProxyRig rig = new ProxyRig(Transport.AUTO, ProxySettings.DEFAULTS)) {
        rig.worker(engine.url());
        assertThat(rig.ask(ProxyRig.post("/v1/rerank", body)).text())
            .as("byte for byte")
            .startsWith("{\"id\":\"r\",");
      }
    }
  }
}

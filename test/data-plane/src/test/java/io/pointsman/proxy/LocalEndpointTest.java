package io.pointsman.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.proxy.local.LocalEndpoint;
import io.pointsman.proxy.local.LocalRequest;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.local.LocalRoutes;
import io.pointsman.proxy.settings.ClientLimits;
import io.pointsman.proxy.settings.CorsSettings;
import io.pointsman.proxy.settings.LimitSettings;
import io.pointsman.testkit.engine.Faults.Answer;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.Parameter;

/** Endpoints that the router answers itself. */
@SuppressWarnings({"StringConcatToTextBlock", "try"}) // line ends matter; tests may be interrupted
@EveryTransport
@Timeout(60)
class LocalEndpointTest {
  private static final String BODY = "{\"model\":\"m\"}";

  @Parameter Transport transport = Transport.AUTO;

  private static final LocalRoutes ROUTES =
      LocalRoutes.builder()
          .on("GET", "/health", request -> LocalResponse.text(200, "fine"))
          .forAnyOrigin("/health")
          .on(
              "POST",
              "/echo",
              request ->
                  LocalResponse.json(
                          201, new String(request.body(), java.nio.charset.StandardCharsets.UTF_8))
                      .withHeader("x-was", String.valueOf(request.parameter("q"))))
          .on("POST", "/head", new HeadReader())
          .below("DELETE", "/workers/", r -> LocalResponse.text(200, r.pathAfter("/workers/")))
          .on(
              "GET",
              "/fails",
              request -> {
                throw new IllegalStateException("by design");
              })
          .build();

  /** Answers with the received part of the body, and if it was complete. */
  private static final class HeadReader implements LocalEndpoint {
    @Override
    public boolean takesHeadOfBody() {
      return true;
    }

    @Override
    public int mostBytes() {
      return Integer.MAX_VALUE;
    }

    @Override
    public LocalResponse handle(LocalRequest request) {
      return LocalResponse.text(200, request.body().length + " " + request.truncated());
    }
  }

  private ProxyRig rig(ProxySettings settings) throws Exception {
    return new ProxyRig(transport, settings, ROUTES);
  }

  @Test
  void localEndpointsAreMatchedByMethodAndPath() throws Exception {
    try (ProxyRig rig = rig(ProxySettings.DEFAULTS)) {
      WireClient client = rig.connect();

      WireResponse health = client.send("GET /health HTTP/1.1\r\nhost: r\r\n\r\n").read();
      assertThat(health.text()).isEqualTo("fine");
      assertThat(health.header("x-request-id")).isNotNull();
      WireResponse echo = client.send(ProxyRig.post("/echo?a=1&q=b%20c", "{}")).read();
      assertThat(echo.status()).isEqualTo(201);
      assertThat(echo.header("x-was")).isEqualTo("b c");
      assertThat(
              client
                  .send("DELETE /workers/http%3A%2F%2Fa%3A1 HTTP/1.1\r\nhost: r\r\n\r\n")
                  .read()
                  .text())
          .isEqualTo("http://a:1");
      assertThat(client.send("GET /fails HTTP/1.1\r\nhost: r\r\n\r\n").read().status())
          .isEqualTo(500);
      assertThat(rig.ended).isEmpty();
    }
  }

  @Test
  void otherMethodsAreRefusedWithTheAllowedOnes() throws Exception {
    try (ProxyRig rig = rig(ProxySettings.DEFAULTS)) {
      WireResponse response = rig.ask("PUT /health HTTP/1.1\r\nhost: r\r\n\r\n");

      assertThat(response.status()).isEqualTo(405);
      assertThat(response.header("allow")).isEqualTo("GET, HEAD");
    }
  }

  @Test
  void headIsAnsweredLikeGetWithoutABody() throws Exception {
    try (ProxyRig rig = rig(ProxySettings.DEFAULTS)) {
      WireClient client = rig.connect().send("HEAD /health HTTP/1.1\r\nhost: r\r\n\r\n");
      assertThat(client.head().header("content-length")).isEqualTo("4");
      assertThat(client.send("GET /health HTTP/1.1\r\nhost: r\r\n\r\n").read().text())
          .isEqualTo("fine");
    }
  }

  @Test
  void bodyIsBounded() throws Exception {
    ProxySettings settings =
        ProxySettings.DEFAULTS.withLimits(LimitSettings.DEFAULTS.withMaxBufferedBody(10));
    try (ProxyRig rig = rig(settings)) {
      assertThat(rig.ask(ProxyRig.post("/echo", "12345678901")).status()).isEqualTo(413);
      assertThat(rig.ask(ProxyRig.post("/echo", "1234567890")).status()).isEqualTo(201);
    }
  }

  @Test
  void endpointsLimitTheirBodies() throws Exception {
    try (ProxyRig rig = rig(ProxySettings.DEFAULTS)) {
      WireResponse refused = rig.ask(ProxyRig.post("/echo", "1".repeat(65_537)));
      assertThat(refused.status()).isEqualTo(413);
      assertThat(refused.text()).contains("at most 65536 bytes");
      assertThat(rig.ask(ProxyRig.post("/echo", "1".repeat(65_536))).status()).isEqualTo(201);
      String large = rig.ask(ProxyRig.post("/head", "1".repeat(3_000_000))).text();
      assertThat(large).isEqualTo("3000000 false");
    }
  }

  @Test
  void bodiesAreRefusedAtTheLimitOfBufferedBytes() throws Exception {
    LimitSettings limits =
        LimitSettings.DEFAULTS.withMaxBufferedTotal(1 << 20).withClients(ClientLimits.NONE);
    try (ProxyRig rig = rig(ProxySettings.DEFAULTS.withLimits(limits))) {
      WireClient stalled = rig.connect();
      String half = "1".repeat(400_000);
      stalled.send(ProxyRig.post("/head", half + half).substring(0, 450_000));
      ProxyRig.await("a part is kept", () -> rig.server().bodies().taken() > 400_000);

      for (String body : List.of("1".repeat(300_000), "1".repeat(900_000))) {
        WireResponse refused = rig.ask(ProxyRig.post("/head", body));
        assertThat(refused.status()).as("%d bytes", body.length()).isEqualTo(503);
        assertThat(refused.header("retry-after")).isEqualTo("1");
        assertThat(refused.text()).contains("buffers_full");
      }
      assertThat(rig.ask(ProxyRig.post("/head", "1".repeat(200_000))).text())
          .isEqualTo("200000 false");
    }
  }

  @Test
  void endpointsCanAcceptTheFirstPartOfALargeBody() throws Exception {
    LimitSettings limits = LimitSettings.DEFAULTS.withMaxBufferedBody(10).withMaxBodyBytes(300_000);
    try (ProxyRig rig = rig(ProxySettings.DEFAULTS.withLimits(limits))) {
      WireClient client = rig.connect();

      assertThat(client.send(ProxyRig.post("/head", "1234567890")).read().text())
          .isEqualTo("10 false");
      assertThat(client.send(ProxyRig.post("/head", "12345678901")).read().text())
          .isEqualTo("10 true");
      assertThat(client.send(ProxyRig.post("/head", "1".repeat(300_000))).read().text())
          .isEqualTo("10 true");
      assertThat(rig.ask(ProxyRig.post("/head", "1".repeat(300_001))).status()).isEqualTo(413);
    }
  }

  /** Many engines permit pages of every origin. */
  @Test
  void permissionsOfEnginesAreRemoved() throws Exception {
    String permitting =
        "HTTP/1.1 200 OK\r\nAccess-Control-Allow-Origin: *\r\naccess-control-allow-methods: *\r\n"
            + "vary: origin\r\ncontent-length: 2\r\n\r\n{}";
    try (ProxyRig rig = rig(ProxySettings.DEFAULTS);
        ScriptedEngine engine =
            ScriptedEngine.start((_, connection) -> connection.send(permitting))) {
      rig.worker(engine.url());
      for (String method : List.of("GET", "OPTIONS")) {
        WireResponse answer =
            rig.ask(
                method
                    + " /v1/x HTTP/1.1\r\nhost: r\r\norigin: https://evil.example\r\n"
                    + "access-control-request-method: POST\r\n\r\n");
        assertThat(answer.status()).isEqualTo(200);
        assertThat(answer.header("vary")).isEqualTo("origin");
        assertThat(answer.values("access-control-allow-origin")).isEmpty();
        assertThat(answer.values("access-control-allow-methods")).isEmpty();
      }
    }
  }

  @Test
  void preflightIsAnsweredForAllowedOrigins() throws Exception {
    String preflight =
        "OPTIONS /v1/x HTTP/1.1\r\nhost: r\r\norigin: https://a.example\r\n"
            + "access-control-request-method: POST\r\n\r\n";
    CorsSettings cors = new CorsSettings(true, List.of("https://a.example"));
    try (ProxyRig rig = rig(ProxySettings.DEFAULTS.withCors(cors));
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      WireClient client = rig.connect();
      WireResponse allowed = client.send(preflight).read();
      assertThat(allowed.status()).isEqualTo(204);
      assertThat(allowed.header("access-control-allow-origin")).isEqualTo("https://a.example");
      assertThat(allowed.header("access-control-allow-methods")).contains("POST");
      WireResponse answer =
          client.send(ProxyRig.post("/x", "origin: https://a.example\r\n", BODY)).read();
      assertThat(answer.values("access-control-allow-origin")).containsExactly("https://a.example");
      WireResponse other =
          client.send(ProxyRig.post("/x", "origin: https://b.example\r\n", BODY)).read();
      assertThat(other.values("access-control-allow-origin")).isEmpty();
    }
  }

  private static String preflight(String path, String headers) {
    return "OPTIONS "
        + path
        + " HTTP/1.1\r\nhost: r\r\norigin: https://a.example\r\n"
        + "access-control-request-method: POST\r\n"
        + headers
        + "\r\n";
  }

  private static String asks(String names) {
    return "access-control-request-headers: " + names + "\r\n";
  }

  @Test
  void permittedOriginsMaySendTheHeadersThatTheyAskForAndAllMethods() throws Exception {
    CorsSettings cors = new CorsSettings(true, List.of("https://a.example"));
    try (ProxyRig rig = rig(ProxySettings.DEFAULTS.withCors(cors))) {
      WireClient client = rig.connect();
      String sdk = "authorization,content-type,x-stainless-os, anthropic-version";
      WireResponse allowed = client.send(preflight("/v1/messages", asks(sdk))).read();
      assertThat(allowed.header("access-control-allow-headers"))
          .isEqualTo("authorization, content-type, x-stainless-os, anthropic-version");
      assertThat(allowed.header("access-control-allow-methods"))
          .isEqualTo("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
      assertThat(client.send(preflight("/workers/1", "")).read())
          .satisfies(
              local ->
                  assertThat(local.header("access-control-allow-methods"))
                      .isEqualTo("DELETE, OPTIONS"));
    }
  }

  @Test
  void malformedAndTooManyRequestedHeadersAreNotRepeated() throws Exception {
    CorsSettings cors = new CorsSettings(true, List.of("https://a.example"));
    try (ProxyRig rig = rig(ProxySettings.DEFAULTS.withCors(cors))) {
      WireClient client = rig.connect();
      for (String names :
          List.of("a b", "a,,b", "x\u00e9", "(a)", "x,".repeat(64) + "x", "x".repeat(4097))) {
        WireResponse allowed = client.send(preflight("/v1/x", asks(names))).read();
        assertThat(allowed.header("access-control-allow-headers"))
            .as(names)
            .isEqualTo("content-type, authorization");
      }
      String most = "x,".repeat(63) + "x";
      assertThat(client.send(preflight("/v1/x", asks(most))).read())
          .satisfies(
              allowed ->
                  assertThat(allowed.header("access-control-allow-headers"))
                      .isEqualTo(most.replace(",", ", ")));
    }
  }

  @Test
  void otherOriginsGetNoPermission() throws Exception {
    CorsSettings cors = new CorsSettings(true, List.of("https://b.example"));
    try (ProxyRig rig = rig(ProxySettings.DEFAULTS.withCors(cors))) {
      WireResponse other = rig.connect().send(preflight("/v1/x", asks("a"))).read();
      assertThat(other.status()).isEqualTo(204);
      assertThat(other.headers()).noneMatch(line -> line.startsWith("access-control-"));
    }
  }

  @Test
  void authorizationIsNamedBesideTheWildcard() throws Exception {
    CorsSettings cors = new CorsSettings(true, List.of());
    try (ProxyRig rig = rig(ProxySettings.DEFAULTS.withCors(cors))) {
      WireResponse allowed = rig.connect().send(preflight("/v1/x", asks("a"))).read();
      assertThat(allowed.header("access-control-allow-origin")).isEqualTo("*");
      assertThat(allowed.header("access-control-allow-headers")).isEqualTo("*, authorization");
      assertThat(allowed.header("access-control-allow-methods")).isEqualTo("*");
    }
  }

  @Test
  void pagesOfAnyOriginMayUseOnlyOpenPathsOfTheRouter() throws Exception {
    CorsSettings cors = new CorsSettings(true, List.of());
    try (ProxyRig rig = rig(ProxySettings.DEFAULTS.withCors(cors))) {
      WireClient client = rig.connect();
      String origin = "host: r\r\norigin: https://a.example\r\n";
      assertThat(client.send("GET /health HTTP/1.1\r\n" + origin + "\r\n").read())
          .satisfies(open -> assertThat(open.header("access-control-allow-origin")).isEqualTo("*"));
      for (String request :
          List.of(
              preflight("/workers/1", ""),
              preflight("/echo", ""),
              "DELETE /workers/1 HTTP/1.1\r\n" + origin + "\r\n",
              "PUT /workers/1 HTTP/1.1\r\n" + origin + "\r\n")) {
        WireResponse closed = client.send(request).read();
        assertThat(closed.headers())
            .as(request)
            .noneMatch(line -> line.startsWith("access-control-"));
      }
    }
  }
}

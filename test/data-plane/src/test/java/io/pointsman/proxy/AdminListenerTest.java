package io.pointsman.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.proxy.local.AdminGuard;
import io.pointsman.proxy.local.AdminPaths;
import io.pointsman.proxy.local.CallerCheck;
import io.pointsman.proxy.local.ClosedPaths;
import io.pointsman.proxy.local.LocalRequest;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.local.LocalRoutes;
import io.pointsman.testkit.engine.Faults.Answer;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The admin listener, and the paths that the client port refuses. */
@Timeout(60)
@SuppressWarnings("try") // tests may be interrupted
class AdminListenerTest {
  private static final LocalRoutes OF_CLIENTS =
      LocalRoutes.builder().on("GET", "/health", _ -> LocalResponse.text(200, "fine")).build();

  private static final LocalRoutes ADMIN =
      LocalRoutes.builder()
          .on("POST", "/admin", AdminListenerTest::seen)
          .on("POST", "/decide", AdminListenerTest::seen)
          .forPlanes("POST", "/decide")
          .on("POST", "/route", AdminListenerTest::seen)
          .forPlanes("POST", "/route")
          .ofClients("/route")
          .on("GET", "/page", r -> LocalResponse.text(200, "page " + r.caller()))
          .withoutKey("/page")
          .below("GET", "/workers/", r -> LocalResponse.text(200, r.pathAfter("/workers/")))
          .build();

  private static final ClosedPaths CLOSED =
      ClosedPaths.builder()
          .close("/admin", _ -> LocalResponse.text(404, "closed"))
          .close("/sleep", _ -> LocalResponse.text(404, "closed"))
          .close("/adapters/", _ -> LocalResponse.text(404, "closed"))
          .close("/metrics*", _ -> LocalResponse.text(404, "closed"))
          .build();

  private static LocalResponse seen(LocalRequest request) {
    return LocalResponse.text(
        200,
        request.caller()
            + " "
            + request.header("authorization")
            + " "
            + request.header("x-pointsman-key"));
  }

  private static ProxyRig rig(String adminKey, String planeKey, LocalRoutes onClientPort)
      throws Exception {
    AdminGuard guard = new AdminGuard(List.of(), adminKey, planeKey);
    return new ProxyRig(
        Transport.AUTO,
        ProxySettings.DEFAULTS,
        OF_CLIENTS,
        new AdminPaths(ADMIN, onClientPort, CLOSED, guard));
  }

  private static ProxyRig rig() throws Exception {
    return rig("", "", LocalRoutes.NONE);
  }

  private static String call(String method, String target, String... lines) {
    StringBuilder head = new StringBuilder(method + " " + target + " HTTP/1.1\r\n");
    head.append("host: 127.0.0.1\r\n");
    for (String line : lines) {
      head.append(line).append("\r\n");
    }
    return head.append("content-length: 0\r\n\r\n").toString();
  }

  private static WireResponse admin(ProxyRig rig, String bytes) throws Exception {
    try (WireClient client = new WireClient(rig.adminPort())) {
      return client.send(bytes).read();
    }
  }

  @Test
  void adminPathsAreOnTheAdminListenerAlone() throws Exception {
    try (ScriptedEngine engine = ScriptedEngine.start(Answer.ok());
        ProxyRig rig = rig()) {
      rig.worker(engine.url());

      assertThat(admin(rig, call("POST", "/admin")).text()).isEqualTo("OPEN null null");
      WireResponse refused = rig.ask(call("POST", "/admin"));
      assertThat(refused.status()).isEqualTo(404);
      assertThat(refused.text()).isEqualTo("closed");
      assertThat(rig.ask(call("GET", "/health")).status()).isEqualTo(200);
      assertThat(engine.requests()).isEmpty();
    }
  }

  @Test
  void theAdminListenerSendsNothingToWorkers() throws Exception {
    try (ScriptedEngine engine = ScriptedEngine.start(Answer.ok());
        ProxyRig rig = rig()) {
      rig.worker(engine.url());

      WireResponse unknown = admin(rig, call("POST", "/v1/chat/completions"));
      assertThat(unknown.status()).isEqualTo(404);
      assertThat(unknown.text()).contains("\"code\":\"not_found\"");
      assertThat(admin(rig, call("GET", "/admin")).status()).isEqualTo(405);
      assertThat(engine.requests()).isEmpty();
    }
  }

  static List<String> spellings() {
    return List.of(
        "/sleep",
        "/sleep?level=1",
        "/%73leep",
        "/slee%70",
        "/%73%6c%65%65%70",
        "/SLEEP",
        "/Sleep/",
        "//sleep",
        "/%2Fsleep",
        "/./sleep",
        "/v1/../sleep",
        "/v1/%2e%2e/sleep",
        "/sleep;x",
        "/sleep;/",
        "/..;/sleep",
        "/\\sleep",
        "/%5csleep",
        "http://other/sleep",
        "HTTP://other//%73leep",
        "/adapters/sql",
        "/%61dapters/sql",
        "/adapters/a%2Fb",
        "/sleep/.",
        "/x/..//sleep",
        "/SLEEP%3Blevel=1",
        "/metrics",
        "/Metrics/",
        "/metricsfoo",
        "/metrics/x",
        "/metrics/../v1/other",
        "/metrics%2F..%2Fother",
        "/adapters/../other",
        "//metrics/..;/other");
  }

  @ParameterizedTest
  @MethodSource("spellings")
  void noSpellingOfAClosedPathReachesAWorker(String target) throws Exception {
    try (ScriptedEngine engine = ScriptedEngine.start(Answer.ok());
        ProxyRig rig = rig()) {
      rig.worker(engine.url());

      WireClient kept = rig.connect();
      for (String method : List.of("POST", "GET", "PUT", "DELETE", "OPTIONS")) {
        kept.send(call(method, "/v1/open"));
        assertThat(kept.read().status()).isEqualTo(200);
        kept.send(call(method, target));
        WireResponse response = kept.read();
        assertThat(response.status()).as(method + " " + target).isEqualTo(404);
        assertThat(response.text()).isEqualTo("closed");
      }
      assertThat(engine.requests()).hasSize(5);
    }
  }

  /** With HTTP/2 a target is a path; a complete URL is malformed. */
  @ParameterizedTest
  @MethodSource("spellings")
  void noSpellingReachesAWorkerWithHttp2(String target) throws Exception {
    try (ScriptedEngine engine = ScriptedEngine.start(Answer.ok());
        ProxyRig rig = rig();
        Http2Wire client = new Http2Wire(rig.port())) {
      rig.worker(engine.url());

      Http2Wire.Answer answer = client.head(1, true, Http2Wire.post(target)).answer(1);
      if (target.startsWith("/")) {
        assertThat(answer.status()).isEqualTo("404");
        assertThat(answer.body()).isEqualTo("closed");
      } else {
        assertThat(answer.reset()).isEqualTo(Http2Wire.PROTOCOL_ERROR);
      }
      assertThat(engine.requests()).isEmpty();
    }
  }

  /** Engines find {@code /sleep} there. */
  @ParameterizedTest
  @ValueSource(strings = {"/sleep%0A", "/sleep%0a?level=1", "/adapters%0A", "/sleep%00"})
  void encodedControlCharactersAreMalformedWithHttp2(String target) throws Exception {
    try (ScriptedEngine engine = ScriptedEngine.start(Answer.ok());
        ProxyRig rig = rig();
        Http2Wire client = new Http2Wire(rig.port())) {
      rig.worker(engine.url());

      assertThat(client.head(1, true, Http2Wire.post(target)).answer(1).status()).isEqualTo("400");
      assertThat(engine.requests()).isEmpty();
    }
  }

  /** Another server would not find the path either, so it is no closed one. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "/sleep.",
        "/sleep%20",
        "/%2573leep",
        "/sleep,x",
        "/v1/sleep",
        "/v1/chat/completions%3F%20HTTP/1.1",
        "/v1/chat/completions%3Fx"
      })
  void otherPathsAreNotClosed(String target) throws Exception {
    try (ScriptedEngine engine = ScriptedEngine.start(Answer.ok());
        ProxyRig rig = rig()) {
      rig.worker(engine.url());

      assertThat(rig.ask(call("POST", target)).status()).isEqualTo(200);
      assertThat(engine.awaitRequest().line()).isEqualTo("POST " + target + " HTTP/1.1");
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/sleep#f",
        "/#",
        "/a#/sleep",
        "/a\u0080",
        "/\u00ff",
        "/a\u0001",
        "/a\t",
        "/sleep%0A",
        "/sleep%0d%0a",
        "/sleep%00",
        "/%09sleep",
        "http://other/sleep%0a"
      })
  void targetsThatServersReadDifferentlyAreMalformed(String target) throws Exception {
    try (ScriptedEngine engine = ScriptedEngine.start(Answer.ok());
        ProxyRig rig = rig()) {
      rig.worker(engine.url());

      assertThat(rig.ask(call("POST", target)).status()).isEqualTo(400);
      assertThat(engine.requests()).isEmpty();
    }
  }

  /** The path that is judged is the one that routing uses. */
  @Test
  void anotherSpellingOfAKnownRouteIsThatRoute() throws Exception {
    try (ScriptedEngine engine = ScriptedEngine.start(Answer.ok());
        ProxyRig rig = rig()) {
      rig.worker(engine.url());
      String body = "{\"model\":\"m\",\"prompt\":\"x\"}";

      assertThat(rig.ask(ProxyRig.post("/v1/%63ompletions?a=%20", body)).status()).isEqualTo(200);
      assertThat(rig.ask(ProxyRig.post("/v1/other%2Fpath", body)).status()).isEqualTo(200);

      assertThat(engine.requests().get(0).line()).isEqualTo("POST /v1/completions?a=%20 HTTP/1.1");
      assertThat(engine.requests().get(1).line()).isEqualTo("POST /v1/other%2Fpath HTTP/1.1");
      for (int i = 2; i < 4; i++) {
        assertThat(rig.ask(ProxyRig.post("/v1//completions", body)).status()).isEqualTo(200);
        assertThat(engine.requests().get(i).line()).isEqualTo("POST /v1/completions HTTP/1.1");
      }
    }
  }

  @Test
  void webPagesAndForeignNamesCannotCall() throws Exception {
    try (ProxyRig rig = rig("", "", ADMIN)) {
      for (int port : new int[] {rig.adminPort(), rig.port()}) {
        for (String line :
            List.of("origin: https://evil.example", "origin: null", "sec-fetch-site: cross-site")) {
          try (WireClient client = new WireClient(port)) {
            WireResponse response = client.send(call("POST", "/admin", line)).read();
            assertThat(response.status()).as(line).isEqualTo(403);
            assertThat(response.text()).contains("admin_call_refused");
          }
        }
        try (WireClient client = new WireClient(port)) {
          String rebound = "POST /admin HTTP/1.1\r\nhost: evil.example\r\n\r\n";
          assertThat(client.send(rebound).read().status()).isEqualTo(403);
        }
        ProxyRig.await("reports of all refusals", () -> rig.lines.size() == 4);
        assertThat(rig.lines).allMatch(line -> line.contains(" 403 admin_call_refused "));
        rig.lines.clear();
      }
    }
  }

  /** The first one is that of the listener's own pages. */
  @Test
  void severalOriginsAreRefused() throws Exception {
    try (ProxyRig rig = rig("", "", ADMIN);
        WireClient client = new WireClient(rig.adminPort())) {
      String own = "origin: http://127.0.0.1:" + rig.adminPort();
      client.send(
          "POST /admin HTTP/1.1\r\nhost: 127.0.0.1:%d\r\n%s\r\norigin: https://evil.example\r\n\r\n"
              .formatted(rig.adminPort(), own));
      assertThat(client.read().status()).isEqualTo(400);
    }
  }

  @Test
  void theAdminPathsCanBeOnTheClientPortToo() throws Exception {
    try (ProxyRig rig = rig("", "", ADMIN)) {
      assertThat(rig.ask(call("POST", "/admin")).text()).isEqualTo("OPEN null null");
      assertThat(rig.ask(call("POST", "//admin/")).status()).isEqualTo(200);
      assertThat(rig.ask(call("GET", "/workers/http%3A%2F%2Fa%3A1")).text())
          .isEqualTo("http://a:1");
      assertThat(rig.ask(call("POST", "/Admin")).status()).isEqualTo(404);
      assertThat(rig.ask(call("POST", "/sleep")).status()).isEqualTo(404);
    }
  }

  @Test
  void theAdminsKeyOpensEverythingAndIsNotPassedOn() throws Exception {
    try (ProxyRig rig = rig("secret", "plane", ADMIN)) {
      String key = "authorization: Bearer secret";
      assertThat(admin(rig, call("POST", "/admin", key)).text()).isEqualTo("ADMIN null null");
      assertThat(rig.ask(call("POST", "/admin", key)).text()).isEqualTo("ADMIN null null");
      for (String wrong :
          List.of("x: y", "authorization: Bearer s", "authorization: Bearer plane")) {
        WireResponse refused = admin(rig, call("POST", "/admin", wrong));
        assertThat(refused.status()).as(wrong).isEqualTo(401);
        assertThat(refused.header("www-authenticate")).contains("Bearer", "Basic");
        assertThat(rig.ask(call("POST", "/admin", wrong)).status()).isEqualTo(401);
      }
      // Otherwise a stranger could find out which paths exist.
      assertThat(admin(rig, call("POST", "/nothing")).status()).isEqualTo(401);
    }
  }

  @Test
  void aProxysKeyOpensItsPaths() throws Exception {
    try (ProxyRig rig = rig("", "plane", LocalRoutes.NONE)) {
      assertThat(admin(rig, call("POST", "/decide")).status()).isEqualTo(401);
      assertThat(admin(rig, call("POST", "/decide", "authorization: Bearer plane")).text())
          .isEqualTo("PLANE null null");
      assertThat(admin(rig, call("POST", "/admin")).status()).isEqualTo(200);
    }
  }

  @Test
  void aClientsKeyIsCheckedWhereAProxyPassesIt() throws Exception {
    try (ProxyRig rig = rig("secret", "plane", LocalRoutes.NONE)) {
      rig.callers =
          new CallerCheck() {
            @Override
            public Verdict known(@Nullable String authorization) {
              return Verdict.UNKNOWN;
            }

            @Override
            public Verdict ask(String authorization) {
              return authorization.equals("Bearer client") ? Verdict.ADMITTED : Verdict.REFUSED;
            }
          };
      String plane = "x-pointsman-key: plane";
      String client = "authorization: Bearer client";
      assertThat(admin(rig, call("POST", "/route", plane, client)).text())
          .isEqualTo("PLANE Bearer client null");
      assertThat(admin(rig, call("POST", "/route", plane, "authorization: Bearer x")).status())
          .isEqualTo(401);
      assertThat(admin(rig, call("POST", "/route", client)).status()).isEqualTo(401);
    }
  }

  /** The files of a page contain no data; the page asks for the key. */
  @Test
  void aPathWithoutKeyIsServedToAllButOtherSites() throws Exception {
    try (ProxyRig rig = rig("the-key", "", LocalRoutes.NONE)) {
      assertThat(admin(rig, call("GET", "/page")).text()).isEqualTo("page OPEN");
      assertThat(admin(rig, call("POST", "/admin")).status()).isEqualTo(401);
      assertThat(admin(rig, call("GET", "/page", "sec-fetch-site: cross-site")).status())
          .isEqualTo(403);
    }
  }
}

package io.pointsman.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.proxy.settings.HeaderSettings;
import io.pointsman.proxy.upstream.EngineKeys;
import io.pointsman.proxy.upstream.UpstreamSettings;
import io.pointsman.proxy.wire.ForwardedSettings;
import io.pointsman.proxy.wire.Network;
import io.pointsman.testkit.engine.EngineRequest;
import io.pointsman.testkit.engine.Faults.Answer;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Headers by which a client could take another identity, or give orders to engines. */
@SuppressWarnings({"StringConcatToTextBlock", "try"}) // line ends matter; tests may be interrupted
@Timeout(60)
class ClientHeadersTest {
  private static final String BODY = "{\"model\":\"m\"}";

  private static final String EARLIER =
      "Forwarded: for=9.9.9.9\r\nX-Forwarded-For: 9.9.9.9\r\nX-Forwarded-For: 8.8.8.8\r\n"
          + "X-Forwarded-Proto: https\r\nX-Forwarded-Host: a.example\r\nX-Real-IP: 9.9.9.9\r\n";

  private static EngineRequest sent(ProxySettings settings, String headers) throws Exception {
    try (ProxyRig rig = new ProxyRig(Transport.NIO, settings);
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      WireResponse answer = rig.ask(ProxyRig.post("/v1/completions", headers, BODY));
      assertThat(answer.status()).isEqualTo(200);
      return engine.awaitRequest();
    }
  }

  private static ProxySettings forwarding(boolean sent, String... trusted) {
    List<Network> networks = List.of(trusted).stream().map(Network::of).toList();
    return ProxySettings.DEFAULTS.withHeaders(
        new HeaderSettings(
            HeaderSettings.DEFAULTS.requestIdHeaders(),
            true,
            false,
            new ForwardedSettings(sent, networks)));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "authorization",
        "close, Authorization",
        "x-api-key, authorization",
        "AUTHORIZATION,host,content-length,content-type",
      })
  void connectionCannotRemoveTheClientsKey(String options) throws Exception {
    ProxySettings settings =
        ProxySettings.DEFAULTS.withUpstream(
            UpstreamSettings.DEFAULTS.withKeys(EngineKeys.of("operator")));
    EngineRequest request =
        sent(
            settings,
            "Connection: " + options + "\r\nAuthorization: Bearer client\r\nX-Api-Key: k\r\n");

    assertThat(request.values("authorization")).containsExactly("Bearer client");
    assertThat(request.values("x-api-key")).containsExactly("k");
    assertThat(request.values("content-type")).containsExactly("application/json");
    assertThat(request.values("content-length")).containsExactly(String.valueOf(BODY.length()));
    assertThat(request.values("connection")).isEmpty();
    assertThat(request.bodyText()).isEqualTo(BODY);
  }

  /** A worker without a right to the engines' key would collect the keys of clients instead. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void replacedKeysOfClientsReachNoWorker(boolean withheld) throws Exception {
    ProxySettings settings =
        ProxySettings.DEFAULTS.withUpstream(
            UpstreamSettings.DEFAULTS.withKeys(new EngineKeys("operator", null, null, true)));
    try (ProxyRig rig = new ProxyRig(Transport.NIO, settings);
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      Map<String, String> labels =
          withheld ? Map.of(EngineKeys.LABEL, EngineKeys.WITHHELD) : Map.of();
      rig.worker(WorkerSpec.of(engine.url()).withModels(Set.of("m")).withLabels(labels));
      rig.ask(
          ProxyRig.post(
              "/v1/completions", "Authorization: Bearer client\r\nX-Api-Key: k\r\n", BODY));
      EngineRequest request = engine.awaitRequest();

      assertThat(request.values("authorization"))
          .isEqualTo(withheld ? List.of() : List.of("Bearer operator"));
      assertThat(request.values("x-api-key")).isEmpty();
    }
  }

  @Test
  void connectionCanRemoveOnlyExtensionsThatNameNobody() throws Exception {
    String names =
        "x-request-id, x-session-id, x-user-id, x-stainless-lang, cookie, traceparent, x-mine";
    EngineRequest request =
        sent(
            ProxySettings.DEFAULTS,
            "Connection: "
                + names
                + "\r\n"
                + "X-Request-Id: r\r\n"
                + "X-Session-Id: s\r\n"
                + "X-User-Id: u\r\n"
                + "X-Stainless-Lang: l\r\n"
                + "Cookie: c\r\n"
                + "traceparent: t\r\n"
                + "X-Mine: m\r\n");

    assertThat(request.values("x-request-id")).containsExactly("r");
    assertThat(request.values("x-session-id")).containsExactly("s");
    assertThat(request.values("x-user-id")).containsExactly("u");
    assertThat(request.values("x-stainless-lang")).containsExactly("l");
    assertThat(request.values("cookie")).containsExactly("c");
    assertThat(request.values("traceparent")).containsExactly("t");
    assertThat(request.values("x-mine")).isEmpty();
  }

  @Test
  void ordersToEnginesAndPlanesAreRemoved() throws Exception {
    List<String> orders =
        List.of(
            "X-Data-Parallel-Rank",
            "X-Data-Parallel-Host-Port",
            "X-Pointsman-Worker",
            "x-pointsman-lease-ttl",
            "X-Prefiller-Host-Port",
            "X-Encoder-Hosts-Ports",
            "X-Gateway-Destination-Endpoint",
            "X-Serve-Router-Replica",
            "X-Body-Truncated",
            "X-KV-Transfer-Params");
    StringBuilder headers = new StringBuilder("X-Tier: flex\r\n");
    orders.forEach(name -> headers.append(name).append(": 9.9.9.9:1\r\n"));
    EngineRequest request =
        sent(ProxySettings.DEFAULTS, headers.append("X-Last: 1\r\n").toString());

    for (String name : orders) {
      assertThat(request.values(name)).as(name).isEmpty();
    }
    assertThat(request.values("x-tier")).containsExactly("flex");
    assertThat(request.values("x-last")).containsExactly("1");
  }

  /** Otherwise an engine could change the protocol of a connection that the router keeps. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n",
        "Connection: Upgrade\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n",
        "Upgrade: h2c, websocket\r\nHTTP2-SETTINGS: a\r\nhttp2-settings: b\r\n",
        "Connection: HTTP2-Settings\r\nHTTP2-Settings: AAMAAABk\r\n",
      })
  void workersGetNoRequestForAnotherProtocol(String headers) throws Exception {
    EngineRequest request = sent(ProxySettings.DEFAULTS, headers);

    assertThat(request.values("connection")).isEmpty();
    assertThat(request.values("upgrade")).isEmpty();
    assertThat(request.values("http2-settings")).isEmpty();
  }

  @Test
  void theAddressThatAClientNamesIsReplaced() throws Exception {
    EngineRequest request = sent(forwarding(true, "10.0.0.0/8", "::1"), EARLIER);

    assertThat(request.values("x-forwarded-for")).containsExactly("127.0.0.1");
    assertThat(request.values("x-real-ip")).containsExactly("127.0.0.1");
    assertThat(request.values("x-forwarded-proto")).containsExactly("http");
    assertThat(request.values("x-forwarded-host")).isEmpty();
    assertThat(request.values("forwarded")).isEmpty();
  }

  @Test
  void workersGetTheAddressOfAClientThatNamesNone() throws Exception {
    EngineRequest request = sent(ProxySettings.DEFAULTS, "");

    assertThat(request.values("x-forwarded-for")).containsExactly("127.0.0.1");
    assertThat(request.values("x-real-ip")).containsExactly("127.0.0.1");
    assertThat(request.values("x-forwarded-proto")).containsExactly("http");
  }

  @Test
  void theAddressesThatATrustedProxyNamesAreExtended() throws Exception {
    EngineRequest request = sent(forwarding(true, "127.0.0.0/8"), EARLIER);

    assertThat(request.values("x-forwarded-for")).containsExactly("9.9.9.9, 8.8.8.8, 127.0.0.1");
    assertThat(request.values("x-real-ip")).containsExactly("9.9.9.9");
    assertThat(request.values("x-forwarded-proto")).containsExactly("https");
    assertThat(request.values("x-forwarded-host")).containsExactly("a.example");
    assertThat(request.values("forwarded"))
        .containsExactly("for=9.9.9.9, for=127.0.0.1;proto=http");
  }

  @Test
  void noAddressIsSentIfThatIsOff() throws Exception {
    EngineRequest request = sent(forwarding(false, "127.0.0.1"), EARLIER);

    for (String name : List.of("forwarded", "x-forwarded-for", "x-forwarded-proto", "x-real-ip")) {
      assertThat(request.values(name)).as(name).isEmpty();
    }
  }
}

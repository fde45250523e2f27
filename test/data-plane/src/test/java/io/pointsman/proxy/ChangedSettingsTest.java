package io.pointsman.proxy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.pointsman.proxy.admission.AdmissionSettings;
import io.pointsman.proxy.http2.Http2FrontSettings;
import io.pointsman.proxy.local.AdminGuard;
import io.pointsman.proxy.local.AdminPaths;
import io.pointsman.proxy.local.CallerCheck;
import io.pointsman.proxy.local.ClosedPaths;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.local.LocalRoutes;
import io.pointsman.proxy.local.ServedPaths;
import io.pointsman.proxy.settings.HeaderSettings;
import io.pointsman.proxy.settings.LimitSettings;
import io.pointsman.proxy.upstream.EngineKeys;
import io.pointsman.proxy.upstream.UpstreamSettings;
import io.pointsman.proxy.wire.ForwardedSettings;
import io.pointsman.proxy.wire.Network;
import io.pointsman.request.AffinitySettings;
import io.pointsman.testkit.engine.Faults.Answer;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Settings that change while the server runs. */
@Timeout(60)
@SuppressWarnings("try") // tests may be interrupted
class ChangedSettingsTest {
  private static final String CHAT = "/v1/chat/completions";
  private static final String BODY = "{\"model\":\"m\"}";
  private static final LimitSettings SMALL = new LimitSettings(20, 1024, 256, 10, 1 << 20);

  private static void use(ProxyRig rig, ProxySettings next) {
    rig.server().use(next, AffinitySettings.DEFAULT, ServedPaths.NONE, CallerCheck.NONE);
  }

  @Test
  void aKeptConnectionGetsTheNewLimits() throws Exception {
    try (ProxyRig rig = new ProxyRig(Transport.AUTO, ProxySettings.DEFAULTS);
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      WireClient client = rig.connect();
      client.send(ProxyRig.post(CHAT, BODY + " ".repeat(50)));
      assertThat(client.read().status()).isEqualTo(200);
      use(rig, rig.settings().withLimits(SMALL));
      client.send(ProxyRig.post(CHAT, BODY + " ".repeat(50)));
      assertThat(client.read().status()).isEqualTo(413);
      use(rig, rig.settings());
      assertThat(rig.ask(ProxyRig.post(CHAT, BODY + " ".repeat(50))).status()).isEqualTo(200);
    }
  }

  /** A connection remembers the last path that went to a worker. */
  @Test
  void aKeptConnectionGetsTheNewClosedPaths() throws Exception {
    ClosedPaths closed =
        ClosedPaths.builder().close(CHAT, _ -> LocalResponse.text(404, "closed")).build();
    AdminPaths closing =
        new AdminPaths(
            LocalRoutes.NONE, LocalRoutes.NONE, closed, new AdminGuard(List.of(), "", ""));
    try (ProxyRig rig = new ProxyRig(Transport.AUTO, ProxySettings.DEFAULTS);
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      WireClient client = rig.connect();
      for (int i = 0; i < 3; i++) {
        client.send(ProxyRig.post(CHAT, BODY));
        assertThat(client.read().status()).isEqualTo(200);
      }
      rig.server()
          .use(rig.settings(), AffinitySettings.DEFAULT, ServedPaths.of(closing), CallerCheck.NONE);
      client.send(ProxyRig.post(CHAT, BODY));
      assertThat(client.read().text()).isEqualTo("closed");
      use(rig, rig.settings());
      client.send(ProxyRig.post(CHAT, BODY));
      assertThat(client.read().status()).isEqualTo(200);
    }
  }

  @Test
  void aRequestThatWaitsStaysInItsQueue() throws Exception {
    CountDownLatch answer = new CountDownLatch(1);
    AdmissionSettings one = new AdmissionSettings(1, 4, Duration.ofSeconds(50), 503);
    try (ProxyRig rig = new ProxyRig(Transport.AUTO, ProxySettings.DEFAULTS.withAdmission(one));
        ScriptedEngine engine =
            ScriptedEngine.start(
                (request, connection) -> {
                  answer.await();
                  Answer.ok().answer(request, connection);
                })) {
      rig.worker(engine.url());
      WireClient first = rig.connect();
      first.send(ProxyRig.post(CHAT, BODY));
      ProxyRig.await("it runs", () -> !engine.requests().isEmpty());
      WireClient second = rig.connect();
      second.send(ProxyRig.post(CHAT, BODY));
      ProxyRig.await("it waits", () -> rig.server().queued() == 1);
      use(rig, rig.settings().withAdmission(AdmissionSettings.DEFAULTS));
      WireClient third = rig.connect();
      third.send(ProxyRig.post(CHAT, BODY));
      ProxyRig.await("the third runs", () -> engine.requests().size() == 2);
      answer.countDown();
      assertThat(first.read().status()).isEqualTo(200);
      assertThat(second.read().status()).isEqualTo(200);
      assertThat(third.read().status()).isEqualTo(200);
    }
  }

  @Test
  void aRequestHasTheKeyOfTheMomentWhenItIsSent() throws Exception {
    CountDownLatch answer = new CountDownLatch(1);
    try (ProxyRig rig = new ProxyRig(Transport.AUTO, withKey("old"));
        ScriptedEngine engine =
            ScriptedEngine.start(
                (request, connection) -> {
                  if (request.bodyText().contains("slow")) {
                    answer.await();
                  }
                  Answer.ok().answer(request, connection);
                })) {
      rig.worker(engine.url());
      assertThat(rig.ask(ProxyRig.post(CHAT, BODY)).status()).isEqualTo(200);
      WireClient slow = rig.connect();
      slow.send(ProxyRig.post(CHAT, "{\"model\":\"m\",\"slow\":1}"));
      ProxyRig.await("it runs", () -> engine.requests().size() == 2);
      assertThat(rig.ask(ProxyRig.post(CHAT, BODY)).status()).isEqualTo(200);

      rig.server().useKeys(EngineKeys.of("new"));

      assertThat(rig.ask(ProxyRig.post(CHAT, BODY)).status()).isEqualTo(200);
      answer.countDown();
      assertThat(slow.read().status()).isEqualTo(200);
      assertThat(engine.requests().stream().map(each -> each.header("authorization")))
          .containsExactly("Bearer old", "Bearer old", "Bearer old", "Bearer new");

      use(rig, rig.settings().withUpstream(withKey("last").upstream()));
      assertThat(rig.ask(ProxyRig.post(CHAT, BODY)).status()).isEqualTo(200);
      assertThat(engine.requests().getLast().header("authorization")).isEqualTo("Bearer last");
    }
  }

  private static ProxySettings withKey(String key) {
    return ProxySettings.DEFAULTS.withUpstream(
        UpstreamSettings.DEFAULTS.withKeys(EngineKeys.of(key)));
  }

  @Test
  void connectionsToWorkersAreKeptAsTheNewSettingsSay() throws Exception {
    try (ProxyRig rig = new ProxyRig(Transport.AUTO, ProxySettings.DEFAULTS);
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      UpstreamSettings kept = rig.settings().upstream();
      use(rig, rig.settings().withUpstream(kept.withPoolIdleTimeout(Duration.ofHours(1))));
      WireClient client = rig.connect();
      for (int i = 0; i < 3; i++) {
        assertThat(client.send(ProxyRig.post(CHAT, BODY)).read().status()).isEqualTo(200);
      }
      int before = engine.connections();
      use(rig, rig.settings().withUpstream(kept.withPoolIdleTimeout(Duration.ZERO)));
      for (int i = 0; i < 3; i++) {
        assertThat(client.send(ProxyRig.post(CHAT, BODY)).read().status()).isEqualTo(200);
      }
      assertThat(before).isEqualTo(1);
      assertThat(engine.connections()).isEqualTo(4);
    }
  }

  @Test
  void aLowerLimitOfOneClientClosesItsFurtherConnections() throws Exception {
    try (ProxyRig rig = new ProxyRig(Transport.AUTO, ProxySettings.DEFAULTS);
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      WireClient first = rig.connect();
      assertThat(first.send(ProxyRig.post(CHAT, BODY)).read().status()).isEqualTo(200);
      LimitSettings limits = rig.settings().limits();
      use(
          rig,
          rig.settings().withLimits(limits.withClients(limits.clients().withMaxConnections(1))));
      assertThat(rig.connect().atEnd()).isTrue();
      assertThat(first.send(ProxyRig.post(CHAT, BODY)).read().status()).isEqualTo(200);
    }
  }

  @Test
  void laterConnectionsHaveTheProtocolsOfTheNewSettings() throws Exception {
    try (ProxyRig rig = new ProxyRig(Transport.AUTO, ProxySettings.DEFAULTS)) {
      String preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0";
      ListenSettings listen = rig.settings().listen();
      assertThat(rig.connect().send(preface).text(4)).doesNotContain("HTTP");
      use(rig, rig.settings().withListen(listen.withHttp2(Http2FrontSettings.OFF)));
      assertThat(rig.connect().send(preface).text(4)).isEqualTo("HTTP");
      use(rig, rig.settings());
      assertThat(rig.connect().send(preface).text(4)).doesNotContain("HTTP");
    }
  }

  @Test
  void theChecksOfCallersChangeOnKeptConnections() throws Exception {
    try (ProxyRig rig = new ProxyRig(Transport.AUTO, ProxySettings.DEFAULTS);
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      WireClient client = rig.connect();
      client.send(ProxyRig.post(CHAT, BODY));
      assertThat(client.read().status()).isEqualTo(200);
      rig.server()
          .use(rig.settings(), AffinitySettings.DEFAULT, ServedPaths.NONE, CallerCheck.NOBODY);
      client.send(ProxyRig.post(CHAT, BODY));
      assertThat(client.read().status()).isEqualTo(401);
    }
  }

  /** A proxy in front keeps its connections for hours. */
  @Test
  void aKeptConnectionIsTrustedByTheNewSettings() throws Exception {
    try (ProxyRig rig = new ProxyRig(Transport.AUTO, ProxySettings.DEFAULTS);
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      WireClient proxy = rig.connect();
      String request = ProxyRig.post(CHAT, "x-forwarded-for: 9.9.9.9\r\n", BODY);
      ForwardedSettings trusting = new ForwardedSettings(true, List.of(Network.of("127.0.0.0/8")));
      HeaderSettings headers = rig.settings().headers();
      assertThat(proxy.send(request).read().status()).isEqualTo(200);

      use(
          rig,
          rig.settings()
              .withHeaders(new HeaderSettings(headers.requestIdHeaders(), true, false, trusting)));
      assertThat(proxy.send(request).read().status()).isEqualTo(200);
      use(rig, rig.settings());
      assertThat(proxy.send(request).read().status()).isEqualTo(200);

      assertThat(engine.requests().stream().map(each -> each.header("x-forwarded-for")))
          .containsExactly("127.0.0.1", "9.9.9.9, 127.0.0.1", "127.0.0.1");
    }
  }

  @Test
  void fixedSettingsAreRefused() throws Exception {
    try (ProxyRig rig = new ProxyRig(Transport.AUTO, ProxySettings.DEFAULTS)) {
      ProxySettings other = rig.settings().withListen(rig.settings().listen().withEventLoops(7));
      assertThatIllegalArgumentException().isThrownBy(() -> use(rig, other));
    }
  }
}

package io.pointsman.pd.execution;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.proxy.ProxyRig;
import io.pointsman.proxy.ProxySettings;
import io.pointsman.proxy.Transport;
import io.pointsman.proxy.WireClient;
import io.pointsman.proxy.WireResponse;
import io.pointsman.proxy.settings.ClientLimits;
import io.pointsman.proxy.settings.LimitSettings;
import io.pointsman.testkit.engine.EngineRequest;
import io.pointsman.testkit.engine.EngineScript;
import io.pointsman.testkit.engine.Faults.Answer;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Requests at the limit on the buffered bytes of all bodies. */
@Timeout(60)
@SuppressWarnings("try") // closing may be interrupted, as tests may
class BufferedTotalTest {
  private static final String CHAT = "/v1/chat/completions";
  private static final int MIB = 1 << 20;
  private static final int BODY = 400_000;

  /** Room for five bodies of {@link #BODY}; the fourth exceeds three quarters. */
  private static final ProxySettings SMALL =
      ProxySettings.DEFAULTS.withLimits(
          LimitSettings.DEFAULTS.withMaxBufferedTotal(2 * MIB).withClients(ClientLimits.NONE));

  private static String prompt(int bytes) {
    return "{\"model\":\"m\",\"max_tokens\":5,\"prompt\":\"" + "x".repeat(bytes) + "\"}";
  }

  private static EngineScript onceOpen(CountDownLatch gate) {
    return (request, connection) -> {
      gate.await();
      Answer.ok().answer(request, connection);
    };
  }

  private static int count(List<WireResponse> answers, int status) {
    return (int) answers.stream().filter(answer -> answer.status() == status).count();
  }

  private static void assertRefused(WireResponse answer) {
    assertThat(answer.status()).isEqualTo(503);
    assertThat(answer.header("retry-after")).isEqualTo("1");
    assertThat(answer.text()).contains("\"code\":\"buffers_full\"", "\"type\":\"server_error\"");
  }

  @Test
  void largeBodiesAreStreamedAboveThreeQuartersOfTheLimit() throws Exception {
    CountDownLatch gate = new CountDownLatch(1);
    try (ProxyRig rig = new ProxyRig(Transport.AUTO, SMALL);
        ScriptedEngine engine = ScriptedEngine.start(onceOpen(gate))) {
      rig.worker(engine.url());
      List<WireClient> clients = new ArrayList<>();
      for (int i = 0; i < 30; i++) {
        clients.add(rig.connect().send(ProxyRig.post(CHAT, prompt(BODY))));
        ProxyRig.await("arrived", () -> engine.requests().size() == clients.size());
      }
      assertThat(rig.server().bodies().taken()).isBetween(3L * BODY, 2L * MIB);
      gate.countDown();

      for (WireClient client : clients) {
        assertThat(client.read().status()).isEqualTo(200);
      }
      for (EngineRequest request : engine.requests()) {
        assertThat(request.bodyText()).isEqualTo(prompt(BODY));
      }
      assertThat(rig.server().bodies().refused()).isZero();
    }
  }

  @Test
  void smallBodiesAreRefusedAtTheLimit() throws Exception {
    CountDownLatch gate = new CountDownLatch(1);
    try (ProxyRig rig = new ProxyRig(Transport.AUTO, SMALL);
        ScriptedEngine engine = ScriptedEngine.start(onceOpen(gate))) {
      rig.worker(engine.url());
      List<WireClient> clients = new ArrayList<>();
      for (int i = 0; i < 60; i++) {
        clients.add(rig.connect().send(ProxyRig.post(CHAT, prompt(60_000))));
      }
      ProxyRig.await(
          "all arrived or were refused",
          () -> engine.requests().size() + rig.server().bodies().refused() >= 60);
      gate.countDown();

      List<WireResponse> answers = new ArrayList<>();
      for (WireClient client : clients) {
        answers.add(client.read());
      }
      assertThat(count(answers, 200)).isBetween(20, 40);
      assertThat(count(answers, 200) + count(answers, 503)).isEqualTo(60);
      answers.stream()
          .filter(answer -> answer.status() != 200)
          .forEach(BufferedTotalTest::assertRefused);
      assertThat(rig.outcomes).hasSize(count(answers, 200));
      ProxyRig.await("all given back", () -> rig.server().bodies().taken() == 0);
      assertThat(rig.ask(ProxyRig.post(CHAT, prompt(60_000))).status()).isEqualTo(200);
      assertThat(rig.ended).extracting(ProxyRig.Ended::blame).containsOnly("NONE", "ROUTER");
    }
  }

  /** The connection to a worker that does not read holds as much memory as the body. */
  @Test
  void unsentBytesAreReleasedWhenTheWorkersConnectionEnds() throws Exception {
    int kept = LimitSettings.DEFAULTS.maxBufferedBody();
    String chunk = "{\"model\":\"m\",\"prompt\":\"" + "x".repeat(kept);
    String upload =
        "POST /v1/completions HTTP/1.1\r\nhost: r\r\ntransfer-encoding: chunked\r\n\r\n"
            + Integer.toHexString(chunk.length())
            + "\r\n"
            + chunk
            + "\r\n";
    try (ProxyRig rig = new ProxyRig(Transport.AUTO);
        ServerSocket unresponsive = new ServerSocket(0, 5, InetAddress.getLoopbackAddress())) {
      rig.worker("http://127.0.0.1:" + unresponsive.getLocalPort());
      WireClient client = rig.connect().send(upload);
      try (Socket connection = unresponsive.accept()) {
        assertThat(connection.getInputStream().read()).isEqualTo('P');
        assertThat(rig.server().bodies().taken()).isGreaterThanOrEqualTo(kept);
      }
      ProxyRig.await("all given back", () -> rig.server().bodies().taken() == 0);
      assertThat(client.read().status()).isEqualTo(502);
    }
  }

  @Test
  void bodiesOfClientsThatLeaveAreReleased() throws Exception {
    try (ProxyRig rig = new ProxyRig(Transport.AUTO, SMALL)) {
      WireClient client = rig.connect();
      client.send(ProxyRig.post(CHAT, prompt(BODY)).substring(0, BODY / 2));
      ProxyRig.await("a part is kept", () -> rig.server().bodies().taken() > 100_000);
      client.reset();
      ProxyRig.await("all given back", () -> rig.server().bodies().taken() == 0);
    }
  }

  @Test
  void splitRequestsAreRefusedAtTheLimit() throws Exception {
    CountDownLatch gate = new CountDownLatch(1);
    String reply = "{\"kv_transfer_params\":{\"do_remote_prefill\":true,\"remote_port\":1}}";
    EngineScript prefilling =
        (request, connection) -> {
          gate.await();
          new Answer(200, reply).answer(request, connection);
        };
    try (SplitRig rig = new SplitRig("nixl", SMALL)) {
      ScriptedEngine prefill = rig.prefill(prefilling);
      ScriptedEngine decode = rig.decode(Answer.ok());
      List<WireClient> clients = new ArrayList<>();
      for (int i = 0; i < 20; i++) {
        clients.add(rig.proxy.connect().send(ProxyRig.post(SplitRig.PATH, prompt(BODY))));
      }
      ProxyRig.await(
          "all arrived or were refused",
          () -> prefill.requests().size() + rig.proxy.server().bodies().refused() >= 20);
      gate.countDown();

      List<WireResponse> answers = new ArrayList<>();
      for (WireClient client : clients) {
        answers.add(client.read());
      }
      assertThat(count(answers, 200)).isBetween(1, 5);
      answers.stream()
          .filter(answer -> answer.status() != 200)
          .forEach(BufferedTotalTest::assertRefused);
      assertThat(decode.requests()).hasSize(count(answers, 200));
      for (EngineRequest request : decode.requests()) {
        assertThat(request.bodyText())
            .contains(prompt(BODY).substring(0, BODY), "\"do_remote_prefill\":true");
      }
      assertThat(rig.proxy.outcomes).hasSize(2 * count(answers, 200));
    }
  }
}

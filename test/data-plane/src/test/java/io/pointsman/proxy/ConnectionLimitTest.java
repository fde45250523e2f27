package io.pointsman.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.proxy.local.CallerCheck;
import io.pointsman.proxy.local.ServedPaths;
import io.pointsman.proxy.settings.ClientLimits;
import io.pointsman.proxy.settings.LimitSettings;
import io.pointsman.request.AffinitySettings;
import io.pointsman.testkit.Await;
import io.pointsman.testkit.FakeClock;
import io.pointsman.testkit.engine.Faults.Answer;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.Parameter;

@SuppressWarnings("try") // closing may be interrupted, as tests may
@EveryTransport
@Timeout(60)
class ConnectionLimitTest {
  private static final int MOST = 4;

  /** Number of clients that a listener may accept before it stops. */
  private static final int UNDER_WAY = 16;

  /** Places of the admin listener. */
  private static final int ADMIN_PLACES = 512;

  private static final int FLOOD = 3 * (MOST + UNDER_WAY);

  /**
   * Number of sequential requests. A loop that did not stop accepting would accept all clients
   * within them.
   */
  private static final int TURNS = 100;

  private static final String REQUEST = ProxyRig.post("/v1/chat/completions", "{\"model\":\"m\"}");

  @Parameter Transport transport = Transport.AUTO;

  @Test
  void clientsAboveTheLimitWaitUntilOthersHaveLeft() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport, settings(MOST, FLOOD));
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      List<WireClient> flood = connect(rig, FLOOD);
      Await.until("as many as may be", () -> rig.server().clients() >= MOST);
      for (int turn = 0; turn < TURNS; turn++) {
        assertThat(flood.getFirst().send(REQUEST).read().status()).isEqualTo(200);
      }
      int in = rig.server().clients();
      assertThat(in).isLessThanOrEqualTo(MOST + UNDER_WAY);

      WireClient next = flood.get(in).send(REQUEST);
      int first = in - MOST + 1;
      for (WireClient each : flood.subList(0, first)) {
        each.close();
      }
      assertThat(next.read().status()).as("the next once there is room for one").isEqualTo(200);
      for (WireClient each : flood.subList(first, FLOOD)) {
        each.close();
      }
      Await.until("all have left", () -> rig.server().clients() == 0);
      assertThat(rig.ask(REQUEST).status()).as("after the flood").isEqualTo(200);
    }
  }

  @Test
  void aHigherLimitLetsWaitingClientsIn() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport, settings(MOST, FLOOD), new FakeClock());
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      List<WireClient> flood = connect(rig, FLOOD);
      Await.until("as many as may be", () -> rig.server().clients() >= MOST);
      for (int turn = 0; turn < TURNS; turn++) {
        assertThat(flood.getFirst().send(REQUEST).read().status()).isEqualTo(200);
      }
      WireClient waiting = flood.getLast().send(REQUEST);
      assertThat(rig.server().clients()).isLessThanOrEqualTo(MOST + UNDER_WAY);

      ProxySettings open =
          rig.settings().withListen(rig.settings().listen().withMaxConnections(2 * FLOOD));
      rig.server().use(open, AffinitySettings.DEFAULT, ServedPaths.NONE, CallerCheck.NONE);

      assertThat(waiting.read().status()).isEqualTo(200);
      assertThat(rig.server().clientsLimit()).isEqualTo(2 * FLOOD);
    }
  }

  @Test
  void aListenerAtAnotherAddressHasTheSameLimit() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport, settings(MOST, FLOOD));
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      List<WireClient> clients = connect(rig, MOST);
      assertThat(clients.getLast().send(REQUEST).read().status()).isEqualTo(200);
      Await.until("all are counted", () -> rig.server().clients() == MOST);
      int old = rig.server().port();

      OpenedPort dropped = rig.server().open("127.0.0.1", 0);
      dropped.drop();
      assertThat(rig.server().port()).isEqualTo(old);
      rig.server().open("127.0.0.1", 0).use();
      assertThat(rig.server().port()).isNotEqualTo(old);

      WireClient waiting = rig.connect().send(REQUEST);
      for (int turn = 0; turn < TURNS; turn++) {
        assertThat(clients.getFirst().send(REQUEST).read().status()).isEqualTo(200);
      }
      assertThat(rig.server().clients()).isEqualTo(MOST);
      clients.getLast().close();
      assertThat(waiting.read().status()).isEqualTo(200);
    }
  }

  @Test
  void aListenerThatIsOnlyPreparedAcceptsNobody() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport, settings(MOST, FLOOD), new FakeClock());
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      OpenedPort next = rig.server().open("127.0.0.1", 0);
      WireClient early = rig.closing(new WireClient(next.number())).send(REQUEST);
      ProxySettings more =
          rig.settings().withListen(rig.settings().listen().withMaxConnections(FLOOD));
      rig.server().use(more, AffinitySettings.DEFAULT, ServedPaths.NONE, CallerCheck.NONE);
      // The loops have many turns.
      for (int turn = 0; turn < TURNS; turn++) {
        assertThat(rig.ask(REQUEST).status()).isEqualTo(200);
      }
      Await.until("they have left", () -> rig.server().clients() == 0);
      assertThat(early.hasBytes()).isFalse();

      next.use();

      assertThat(early.read().status()).isEqualTo(200);
      assertThat(rig.server().clients()).isEqualTo(1);
    }
  }

  @Test
  void withoutALimitAllClientsAreServed() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport, settings(0, 0));
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      List<WireClient> flood = connect(rig, FLOOD);
      assertThat(flood.getLast().send(REQUEST).read().status()).isEqualTo(200);
      Await.until("all are counted", () -> rig.server().clients() == FLOOD);
    }
  }

  @Test
  void oneClientCannotTakeAllPlaces() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport, settings(FLOOD, MOST));
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      List<WireClient> greedy = connect(rig, MOST);
      assertThat(greedy.getLast().send(REQUEST).read().status()).isEqualTo(200);
      Await.until("all are counted", () -> rig.server().clients() == MOST);
      for (WireClient refused : connect(rig, MOST)) {
        assertThat(refused.atEnd()).isTrue();
      }
      assertThat(rig.server().clients()).isEqualTo(MOST);
      assertThat(rig.server().clientsOf("7f000001")).isEqualTo(MOST);

      greedy.getFirst().close();
      Await.until("one has left", () -> rig.server().clientsOf("7f000001") == MOST - 1);
      assertThat(rig.ask(REQUEST).status()).isEqualTo(200);
    }
  }

  @Test
  void theDefaultForOneClientIsHalf() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport, settings(2 * MOST, 0))) {
      connect(rig, MOST);
      Await.until("all are counted", () -> rig.server().clients() == MOST);
      assertThat(rig.connect().atEnd()).isTrue();
    }
  }

  @Test
  void theLongestIdleClientsMakeRoom() throws Exception {
    FakeClock clock = new FakeClock();
    try (ProxyRig rig = new ProxyRig(transport, settings(MOST, FLOOD), clock);
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      List<WireClient> idle = connect(rig, MOST);
      Await.until("all are counted", () -> rig.server().clients() == MOST);
      clock.advance(Duration.ofSeconds(1));
      WireClient last = idle.getLast();
      assertThat(last.send(REQUEST).read().status()).isEqualTo(200);
      clock.advance(Duration.ofMillis(1500));

      assertThat(rig.connect().send(REQUEST).read().status()).as("next").isEqualTo(200);
      assertThat(last.send(REQUEST).read().status()).as("idle for less time").isEqualTo(200);
    }
  }

  @Test
  void callersOfTheAdminListenerMakeNoRoomForClients() throws Exception {
    FakeClock clock = new FakeClock();
    try (ProxyRig rig = new ProxyRig(transport, settings(MOST, FLOOD), clock);
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      rig.server().listenForAdmin("127.0.0.1", 0);
      try (WireClient plane = new WireClient(rig.server().adminPort())) {
        String call = "GET /x HTTP/1.1\r\nhost: localhost\r\n\r\n";
        assertThat(plane.send(call).read().status()).isEqualTo(404);
        clock.advance(Duration.ofSeconds(1));
        connect(rig, MOST);
        Await.until("all are counted", () -> rig.server().clients() == MOST);
        clock.advance(Duration.ofSeconds(3));

        // Only the end of a client's connection makes room for the next one.
        assertThat(rig.connect().send(REQUEST).read().status()).as("next").isEqualTo(200);
        assertThat(plane.send(call).read().status()).isEqualTo(404);
      }
    }
  }

  @Test
  void silentConnectionsToTheAdminListenerMakeRoomForOthers() throws Exception {
    FakeClock clock = new FakeClock();
    List<Socket> silent = new ArrayList<>();
    try (ProxyRig rig = new ProxyRig(transport, settings(MOST, FLOOD), clock)) {
      rig.server().listenForAdmin("127.0.0.1", 0);
      int port = rig.server().adminPort();
      for (int i = 0; i < ADMIN_PLACES / 2; i++) {
        silent.add(connect(port, "127.0.0.2"));
      }
      // One address has at most half of the places.
      try (Socket further = connect(port, "127.0.0.2")) {
        assertThat(ended(further)).isTrue();
      }
      for (int i = 0; i < ADMIN_PLACES / 2; i++) {
        silent.add(connect(port, "127.0.0.3"));
      }
      clock.advance(Duration.ofSeconds(3));

      try (WireClient operator = new WireClient(port)) {
        String call = "GET /x HTTP/1.1\r\nhost: localhost\r\n\r\n";
        assertThat(operator.send(call).read().status()).isEqualTo(404);
      }
    } finally {
      for (Socket each : silent) {
        each.close();
      }
    }
  }

  private static Socket connect(int port, String from) throws IOException {
    Socket socket = new Socket();
    socket.bind(new InetSocketAddress(InetAddress.ofLiteral(from), 0));
    socket.connect(new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), port), 60_000);
    socket.setSoTimeout(60_000);
    return socket;
  }

  /** True if the other side closes or resets the connection. */
  private static boolean ended(Socket socket) throws IOException {
    try {
      return socket.getInputStream().read() < 0;
    } catch (SocketTimeoutException e) {
      return false;
    } catch (SocketException e) {
      return true;
    }
  }

  private static ProxySettings settings(int most, int ofOne) {
    ClientLimits clients = ClientLimits.DEFAULTS;
    return ProxySettings.DEFAULTS
        .withListen(ListenSettings.DEFAULTS.withMaxConnections(most))
        .withLimits(
            LimitSettings.DEFAULTS.withClients(
                new ClientLimits(
                    ofOne,
                    clients.bodyShare(),
                    clients.minUploadRate(),
                    clients.uploadGrace(),
                    clients.evictIdle(),
                    clients.searchesPerSecond())));
  }

  private static List<WireClient> connect(ProxyRig rig, int count) throws Exception {
    List<WireClient> clients = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      clients.add(rig.connect());
    }
    return clients;
  }
}

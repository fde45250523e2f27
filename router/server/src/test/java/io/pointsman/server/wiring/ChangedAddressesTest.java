package io.pointsman.server.wiring;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.YamlConfig;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.testkit.Await;
import io.pointsman.tool.sim.FreePorts;
import io.pointsman.tool.sim.zmq.Registration;
import io.pointsman.tool.sim.zmq.RegistrationPings;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Addresses for HAProxy and for engines that change while the router runs, over sockets. */
@Timeout(120)
@SuppressWarnings("NullAway.Init") // set in each test
class ChangedAddressesTest {
  private static final String ENGINE = "127.0.0.1:7";

  private final HttpClient http = HttpClient.newHttpClient();
  private Router router;

  @AfterEach
  void close() {
    http.shutdownNow();
    router.close();
  }

  private static PointsmanConfig config(String more) {
    return PointsmanConfig.from(
        YamlConfig.parse(
            "test", "listen: {port: 0}\nmetrics: {port: 0}\nadmin: {port: 0}\n" + more));
  }

  private static PointsmanConfig spoe(int port) {
    return config("decide: {spoe-address: '127.0.0.1:" + port + "'}\n");
  }

  private static PointsmanConfig registering(int port) {
    return config(
        "disaggregation: {protocol: moriio, registration-address: '127.0.0.1:" + port + "'}\n");
  }

  private static Socket connected(int port) throws IOException {
    return new Socket(InetAddress.getLoopbackAddress(), port);
  }

  private static void assertFree(int port) {
    assertThatThrownBy(() -> connected(port).close()).isInstanceOf(ConnectException.class);
  }

  private HttpResponse<String> ways() throws Exception {
    URI uri = URI.create(router.adminUrl() + "/internal/route");
    return http.send(HttpRequest.newBuilder(uri).build(), HttpResponse.BodyHandlers.ofString());
  }

  /** Asks for the greeting of SPOE; true if the router answers it. */
  private static boolean greets(Socket socket) throws IOException {
    byte[] versions = "supported-versions".getBytes(UTF_8);
    byte[] size = "max-frame-size".getBytes(UTF_8);
    ByteArrayOutputStream hello = new ByteArrayOutputStream();
    hello.writeBytes(new byte[] {1, 0, 0, 0, 1, 0, 0, (byte) versions.length});
    hello.writeBytes(versions);
    hello.writeBytes(new byte[] {8, 3, '2', '.', '0', (byte) size.length});
    hello.writeBytes(size);
    hello.writeBytes(new byte[] {3, (byte) 0xf0, 0x10}); // 496
    DataOutputStream out = new DataOutputStream(socket.getOutputStream());
    out.writeInt(hello.size());
    hello.writeTo(out);
    byte[] answer = socket.getInputStream().readNBytes(5);
    return answer.length == 5 && answer[4] == 101;
  }

  @Test
  void haproxyCanAskFromTheChangeOn() throws Exception {
    PointsmanConfig without = config("");
    router = Router.start(without, "test");
    assertThat(ways().statusCode()).isEqualTo(405);
    assertThat(ways().headers().firstValue("allow")).hasValue("POST");
    assertThat(ways().body()).contains("method_not_allowed");

    int first = FreePorts.next();
    router.change(without, spoe(first));
    assertThat(ways().body()).contains("\"port\":" + first);
    try (Socket socket = connected(first)) {
      assertThat(greets(socket)).isTrue();

      try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
        assertThatThrownBy(() -> router.change(spoe(first), spoe(taken.getLocalPort())))
            .isInstanceOf(IllegalArgumentException.class)
            .hasMessageContaining("decide.spoe-address")
            .hasMessageContaining(":" + taken.getLocalPort() + ": Address already in use");
      }
      assertThat(ways().body()).contains("\"port\":" + first);

      int second = FreePorts.next();
      router.change(spoe(first), spoe(second));
      assertThat(ways().body()).contains("\"port\":" + second);
      assertFree(first);
      Await.until("the end of the old connection", () -> ended(socket));
      try (Socket again = connected(second)) {
        assertThat(greets(again)).isTrue();
      }
      router.change(spoe(second), without);
      assertThat(ways().statusCode()).isEqualTo(405);
      assertFree(second);
    }
  }

  private static boolean ended(Socket socket) {
    try {
      return socket.getInputStream().read() == -1;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private boolean has(String id) {
    return router.fleet().snapshot().worker(id) != null;
  }

  @Test
  void registeredEnginesStayWhenTheirAddressChangesOrEnds() throws Exception {
    PointsmanConfig off = config("");
    router = Router.start(off, "test");
    int first = FreePorts.next();
    router.change(off, registering(first));
    Registration said = new Registration("P", ENGINE, "host:127.0.0.1", "READ", 1, 1);
    try (RegistrationPings _ = new RegistrationPings("127.0.0.1:" + first, said, 0.2)) {
      Await.until("the engine", () -> has(ENGINE));
      try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
        PointsmanConfig refused = registering(taken.getLocalPort());
        assertThatThrownBy(() -> router.change(registering(first), refused))
            .isInstanceOf(IllegalArgumentException.class)
            .hasMessageContaining(":" + taken.getLocalPort() + ": Address already in use");
      }
    }
    // A registration lasts 5 s, so little happens between its last one and the change.
    Worker registered = Objects.requireNonNull(router.fleet().snapshot().worker(ENGINE));
    int second = FreePorts.next();
    router.change(registering(first), registering(second));
    assertFree(first);
    try (RegistrationPings _ =
        new RegistrationPings(
            "127.0.0.1:" + second,
            new Registration("D", "127.0.0.1:9", "host:127.0.0.1", "READ", 1, 1),
            0.2)) {
      Await.until("an engine at the new address", () -> has("127.0.0.1:9"));
    }
    Await.until("the silent engine has left", () -> !has("127.0.0.1:9"));
    assertThat(router.fleet().snapshot().workers()).containsExactly(registered);

    router.change(registering(second), off);
    assertFree(second);
    assertThat(router.fleet().snapshot().workers()).containsExactly(registered);

    router.change(off, registering(first));
    try (RegistrationPings _ = new RegistrationPings("127.0.0.1:" + first, said, 0.2)) {
      // Registers with another role, which only its own registration can change.
      try (RegistrationPings _ =
          new RegistrationPings(
              "127.0.0.1:" + first,
              new Registration("D", "127.0.0.1:9", "host:127.0.0.1", "READ", 1, 1),
              0.2)) {
        Await.until("both", () -> has("127.0.0.1:9") && has(ENGINE));
      }
    }
    assertThat(router.fleet().snapshot().workers().getFirst()).isSameAs(registered);
    Await.until(
        "all silent engines have left", () -> router.fleet().snapshot().workers().isEmpty());
  }

  @Test
  void theLimitOfPrefillsChangesForPresentWorkers() throws Exception {
    String workers = "workers: [{url: 'http://127.0.0.1:7', role: prefill}]\n";
    PointsmanConfig before = config(workers + "disaggregation: {protocol: nixl}\n");
    router = Router.start(before, "test");
    Worker worker = router.fleet().snapshot().workers().getFirst();
    assertThat(worker.maxInFlight()).isZero();

    PointsmanConfig next = config(workers + "disaggregation: {protocol: nixl, max-prefills: 3}\n");
    router.change(before, next);

    assertThat(worker.maxInFlight()).isEqualTo(3);
    assertThat(router.fleet().snapshot().workers()).isEqualTo(List.of(worker));
    URI uri = URI.create(router.adminUrl() + "/workers");
    assertThat(
            http.send(HttpRequest.newBuilder(uri).build(), HttpResponse.BodyHandlers.ofString())
                .body())
        .contains("\"max_in_flight\":3");
    router.change(next, before);
    assertThat(worker.maxInFlight()).isZero();
  }

  /** A router with one client that waits for an accept of the next ones. */
  private static PointsmanConfig waiting(String transport, int backlog) {
    return PointsmanConfig.from(
        YamlConfig.parse(
            "test",
            "listen: {port: 0, backlog: %d}\nmetrics: {port: 0}\nadmin: {port: 0}\ntransport: %s\n"
                    .formatted(backlog, transport)
                + "limits: {max-connections: 1}\n"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"auto", "epoll"})
  void moreConnectionsWaitWithALargerBacklog(String transport) throws Exception {
    int many = 40;
    router = Router.start(waiting(transport, 1), "test");
    int port = URI.create(router.url()).getPort();
    List<Socket> sockets = new ArrayList<>();
    try {
      while (sockets.size() < many && connects(sockets, port, 200)) {
        // Until the backlog is full.
      }
      assertThat(sockets).as("connections with a small backlog").hasSizeLessThan(many);

      router.change(waiting(transport, 1), waiting(transport, 256));
      for (int i = 0; i < many; i++) {
        assertThat(connects(sockets, port, 20_000)).as("connection %d", i).isTrue();
      }
    } finally {
      for (Socket each : sockets) {
        each.close();
      }
    }
  }

  private static boolean connects(List<Socket> sockets, int port, int millis) throws IOException {
    Socket socket = new Socket();
    try {
      socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), millis);
      return sockets.add(socket);
    } catch (SocketTimeoutException e) {
      socket.close();
      return false;
    }
  }

  @Test
  void nioCannotChangeTheBacklog() {
    router = Router.start(waiting("nio", 1), "test");
    assertThatThrownBy(() -> router.change(waiting("nio", 1), waiting("nio", 256)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("configuration: needs a restart");
  }
}

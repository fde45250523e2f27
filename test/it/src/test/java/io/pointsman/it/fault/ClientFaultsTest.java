package io.pointsman.it.fault;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.WaitFor;
import io.pointsman.testkit.Residue;
import io.pointsman.testkit.client.ClientFault;
import io.pointsman.testkit.engine.EngineScript;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Slow, greedy or silent clients, many at once. {@link ClientLeavesTest} covers clients that leave.
 */
@Timeout(120)
@SuppressWarnings("NullAway.Init") // set before all tests
@Tag("full")
final class ClientFaultsTest {
  private static final int MANY = 200;
  private static final String HEAD =
      "POST %s HTTP/1.1\r\nhost: localhost\r\ncontent-length: %d\r\n\r\n";

  /** More bytes than one response and its queue take, including allocator reserves. */
  private static final long ANSWERS_TAKE = 8 << 20;

  /** Longer than the router reads after a last response from clients that keep sending: 30 s. */
  private static final Duration READS_ON = Duration.ofSeconds(60);

  /** Longer than it does so for silent clients: 2 s. */
  private static final long WAITS_MS = 3_000;

  /** Clients that keep sending after a 408, until the router closes their connections. */
  private static final Queue<Thread> SENDERS = new ConcurrentLinkedQueue<>();

  private static FaultRig rig;

  @BeforeAll
  static void start() throws IOException {
    rig =
        FaultRig.alone(
            Map.of(
                "timeouts.client-head", "2s",
                "timeouts.client-body", "1s",
                "timeouts.client-idle", "1s",
                "timeouts.total", "3s",
                "pool.idle-timeout", "100ms"));
  }

  @AfterAll
  static void everyConnectionEndsBehindItsLastAnswer() throws Exception {
    try (FaultRig last = rig) {
      for (Thread sender : SENDERS) {
        assertThat(sender.join(READS_ON)).as("the end of a client that sends on").isTrue();
      }
      assertThat(last.cluster().router().running()).isZero();
    }
  }

  @AfterEach
  void nothingIsLeft() throws IOException {
    rig.check();
  }

  @ParameterizedTest
  @EnumSource(
      mode = EnumSource.Mode.EXCLUDE,
      names = {"LEAVES", "IDLES_IN_THOUSANDS", "SENDS_AHEAD"})
  void affectsNoOtherClient(ClientFault fault) throws Exception {
    switch (fault) {
      case SLOW_HEAD -> trickles("", "GET / HTTP/1.1\r\nx-endless: ");
      case STOPS_WITHIN_BODY -> FaultRig.byMany(_ -> stopsWithinBody());
      case SLOW_BODY -> trickles(HEAD.formatted("/v1/completions", 1_000_000), "{");
      case SLOW_BODY_TO_THE_ROUTER -> trickles(HEAD.formatted("/workers", 60_000), "{");
      case NEVER_READS -> neverReads(1);
      case PIPELINES -> {
        rig.engine().now(FaultRig.healthy(echo()));
        FaultRig.byMany(_ -> pipelines());
      }
      case PIPELINES_AND_NEVER_READS -> {
        neverReads(MANY);
        answersWaitForItToRead("GET /workers HTTP/1.1\r\nhost: localhost\r\n\r\n");
        String one = FaultRig.request(false);
        answersWaitForItToRead(HEAD.formatted("/v1/completions", one.length()) + one);
      }
      case LEAVES, IDLES_IN_THOUSANDS, SENDS_AHEAD ->
          throw new AssertionError(fault + ": has a test of its own");
    }
  }

  /**
   * Sends a byte at intervals; the response must report a timeout. One of the clients keeps sending
   * afterwards, beyond the end of this row.
   */
  private static void trickles(String head, String begin) throws Exception {
    byte[] first = (head + begin).getBytes(StandardCharsets.ISO_8859_1);
    long before = rig.engine().requests().size();
    FaultRig.byMany(number -> trickles(first, number == 0));
    assertThat(rig.engine().requests().size()).isEqualTo(before);
  }

  private static void trickles(byte[] first, boolean sendsOn) throws IOException {
    RawClient client = RawClient.connect(rig.port()).send(first);
    Thread sender = Thread.ofVirtual().start(() -> sendForever(client));
    HttpAnswer answer = client.read();
    assertThat(answer.status()).as(answer.text()).isEqualTo(408);
    assertThat(answer.header("connection")).isEqualTo("close");
    assertNothingFollows(client);
    if (sendsOn) {
      SENDERS.add(sender);
    } else {
      client.leave();
    }
  }

  private static void assertNothingFollows(RawClient client) throws IOException {
    assertThat(client.readSome(new byte[1], 1)).as("what follows, an end").isEqualTo(-1);
  }

  /** Sends until the connection is closed by either side. */
  private static void sendForever(RawClient client) {
    try (client) {
      while (true) {
        client.send(new byte[] {'a'});
        WaitFor.pause(20); // makes it slow
      }
    } catch (IOException _) {
      // The connection has been closed.
    }
  }

  private static void stopsWithinBody() throws IOException {
    try (RawClient client = RawClient.connect(rig.port())) {
      client.send((HEAD.formatted("/v1/completions", 100) + "{").getBytes(StandardCharsets.UTF_8));
      assertThat(client.read().status()).isEqualTo(408);
      assertNothingFollows(client);
      int tries = 0;
      while (reads(client)) {
        assertThat(++tries).as("times that the router still read").isLessThan(5);
      }
    }
  }

  /** True if the router still reads after a time of silence. */
  private static boolean reads(RawClient client) {
    WaitFor.pause(WAITS_MS);
    try {
      client.send(new byte[] {'a'});
      WaitFor.pause(100); // until a reset has arrived
      client.send(new byte[] {'a'});
      return true;
    } catch (IOException _) {
      return false;
    }
  }

  private static void pipelines() throws IOException {
    StringBuilder all = new StringBuilder();
    for (int i = 0; i < MANY; i++) {
      String body = "request " + i;
      all.append(HEAD.formatted("/x", body.length())).append(body);
    }
    try (RawClient client = RawClient.connect(rig.port())) {
      client.send(all.toString().getBytes(StandardCharsets.UTF_8));
      for (int i = 0; i < MANY; i++) {
        assertThat(client.read().text()).isEqualTo("request " + i);
      }
    }
  }

  /** The router drops the clients and makes the engine stop. */
  private static void neverReads(int requests) throws Exception {
    rig.engine().now(FaultRig.healthy(endless()));
    long before = rig.requestsSeen();
    long failures = rig.worker().failures();
    String one = FaultRig.request(true);
    String request = HEAD.formatted("/v1/completions", one.length()) + one;
    byte[] all = request.repeat(requests).getBytes(StandardCharsets.UTF_8);
    List<RawClient> clients = new ArrayList<>();
    try {
      for (int i = 0; i < Residue.FOUND; i++) {
        clients.add(RawClient.connectSlow(rig.port(), 4 << 10).send(all));
      }
      long asked = before + Residue.FOUND;
      WaitFor.until("the engine is asked", WaitFor.LONG, () -> rig.requestsSeen() >= asked);
      WaitFor.until(
          "the engine is left alone", WaitFor.LONG, () -> rig.engine().openConnections() == 0);
      WaitFor.until("it is over", WaitFor.LONG, () -> rig.cluster().router().running() == 0);
      assertThat(rig.requestsSeen()).isEqualTo(asked);
      assertThat(rig.worker().failures()).as("failures, a lease ignored").isEqualTo(failures);
      for (RawClient client : clients) {
        assertThatThrownBy(() -> readOn(client)).hasMessageContaining("reset");
      }
    } finally {
      for (RawClient client : clients) {
        client.close();
      }
    }
  }

  private static void readOn(RawClient client) throws IOException {
    byte[] into = new byte[4 << 10];
    while (client.readSome(into, into.length) >= 0) {
      // Data from before the end.
    }
  }

  /**
   * Sends 1 MB of {@code request} at once, which causes responses of many times that size, and then
   * a byte at intervals. Reads nothing until the router drops the client. First one client, to
   * measure its memory, then many.
   */
  private static void answersWaitForItToRead(String request) throws Exception {
    rig.engine()
        .now(
            FaultRig.healthy(
                (_, connection) -> connection.reply(200, "text/plain", "x".repeat(10_000))));
    byte[] all = request.repeat((1 << 20) / request.length()).getBytes(StandardCharsets.UTF_8);
    try (MemoryWatch memory = MemoryWatch.begin()) {
      sendsWithoutReading(all);
      assertThat(memory.mostMoreInBuffers()).as("bytes of buffers").isLessThan(ANSWERS_TAKE);
    }
    FaultRig.byMany(_ -> sendsWithoutReading(all));
  }

  private static void sendsWithoutReading(byte[] all) throws IOException {
    try (RawClient client = RawClient.connectSlow(rig.port(), 4 << 10)) {
      client.send(all);
      sendForever(client);
    }
  }

  private static EngineScript echo() {
    return (request, connection) -> connection.reply(200, "text/plain", request.bodyText());
  }

  private static EngineScript endless() {
    String chunk = "data: " + "x".repeat(10_000) + "\n\n";
    return (_, connection) -> {
      connection.beginEvents();
      while (true) {
        connection.chunk(chunk);
      }
    };
  }
}

package io.pointsman.control.peers;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.control.env.SystemTicker;
import io.pointsman.control.names.WorkerOrigins;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.Role;
import io.pointsman.pd.peer.Peer.TransferMode;
import io.pointsman.pd.peer.PeerTable;
import io.pointsman.testkit.Await;
import io.pointsman.tool.sim.zmq.Registration;
import io.pointsman.tool.sim.zmq.RegistrationPings;
import io.pointsman.tool.sim.zmq.Sender;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Registrations over ZeroMQ sockets. */
@Timeout(120)
class RegistrationsTest {
  private final Fleet fleet = new Fleet(FleetSettings.DEFAULTS, new SystemTicker());
  private final PeerTable peers = new PeerTable(100);
  private final Registrations all =
      new Registrations(fleet, peers, 100, new SystemTicker(), WorkerOrigins.ANY);
  private Registrations.Listener registrations;

  @BeforeEach
  void open() throws IOException {
    registrations = used("127.0.0.1:0");
  }

  private Registrations.Listener used(String address) throws IOException {
    Registrations.Listener bound = all.bind(address);
    bound.use();
    return bound;
  }

  @AfterEach
  void close() {
    registrations.close();
  }

  private String address() {
    return "127.0.0.1:" + registrations.port();
  }

  private void awaitWorker(String id) {
    Await.until(id + " among the workers", () -> fleet.snapshot().worker(id) != null);
  }

  @Test
  void enginesJoinWhileTheyRegisterAndLeaveWhenTheyAreSilent() {
    Registration said = new Registration("P", "10.0.0.1:8000", "10.0.0.1:21001", "", 1, 1);
    try (RegistrationPings _ = new RegistrationPings(address(), said, 0.2)) {
      awaitWorker("10.0.0.1:8000");
      assertThat(fleet.snapshot().workers())
          .singleElement()
          .returns(Role.PREFILL, worker -> worker.spec().role())
          .returns("10.0.0.1:21001", worker -> peers.of(worker).kvAddress());
    }
    Await.until("it has left", () -> fleet.snapshot().workers().isEmpty());
  }

  @Test
  void sizesAndModeOfMoriioAreStored() {
    Registration said = new Registration("D", "10.0.0.2:8000", "host:10.0.0.2", "READ", 2, 4);
    try (RegistrationPings _ = new RegistrationPings(address(), said, 0.2)) {
      awaitWorker("10.0.0.2:8000@1");
      assertThat(fleet.snapshot().workers())
          .hasSize(2)
          .allSatisfy(
              worker -> {
                assertThat(worker.spec().role()).isEqualTo(Role.DECODE);
                assertThat(peers.of(worker).mode()).isEqualTo(TransferMode.READ);
                assertThat(peers.of(worker).tpSize()).isEqualTo(4);
              });
    }
  }

  @Test
  void anEngineThatReconnectsWithItsIdentityIsAccepted() throws IOException {
    try (Socket _ = named("engine-1", Packed.registration("P", "a:1", "a:2").bytes())) {
      awaitWorker("a:1");
      try (Socket _ = named("engine-1", Packed.registration("P", "a:2", "a:3").bytes())) {
        awaitWorker("a:2");
      }
    }
  }

  /** A connection with an identity that has sent one message of less than 256 bytes. */
  private Socket named(String name, byte[] message) throws IOException {
    Socket socket = new Socket(InetAddress.getLoopbackAddress(), registrations.port());
    ByteArrayOutputStream ready = new ByteArrayOutputStream();
    ready.writeBytes("\5READY\13Socket-Type\0\0\0\6DEALER\10Identity\0\0\0".getBytes(UTF_8));
    ready.write(name.length());
    ready.writeBytes(name.getBytes(UTF_8));
    OutputStream out = socket.getOutputStream();
    out.write(greeting());
    out.write(new byte[] {4, (byte) ready.size()});
    out.write(ready.toByteArray());
    out.write(new byte[] {0, (byte) message.length});
    out.write(message);
    return socket;
  }

  private Sender dealer() {
    return new Sender(address(), "DEALER");
  }

  @Test
  void anEmptyFrameBeforeTheMapIsSkipped() throws IOException {
    try (Sender dealer = dealer()) {
      dealer.send(new byte[0], true);
      dealer.send(Packed.registration("D", "a:1", "a:2").bytes(), false);
      awaitWorker("a:1");
    }
  }

  @Test
  void invalidRegistrationsChangeNothing() throws IOException {
    try (Sender dealer = dealer();
        Sender other = dealer()) {
      Random random = new Random(5);
      for (int i = 0; i < 500; i++) {
        byte[] bytes = new byte[random.nextInt(200)];
        random.nextBytes(bytes);
        sendFrame(dealer, bytes, false);
      }
      for (int i = 0; i < 500; i++) {
        sendFrame(dealer, new byte[] {1}, i < 499);
      }
      other.send(new byte[0], false);
      other.send(Packed.registration("X", "a:9", "a:9").bytes(), false);
      other.send(Packed.registration("P", "a:1", "a:2").bytes(), false);
      awaitWorker("a:1");
      assertThat(fleet.snapshot().workers()).hasSize(1);
    }
  }

  /**
   * Sends a frame. The listener may close the connection first; the next frame then uses a new one.
   */
  private static void sendFrame(Sender dealer, byte[] frame, boolean more) {
    try {
      dealer.send(frame, more);
    } catch (IOException _) {
      // Other engines must still be accepted.
    }
  }

  /** A frame above the limit ends its connection; others continue. */
  @Test
  void aTooLargeFrameIsRefused() throws IOException {
    try (Sender loud = dealer();
        Sender good = dealer()) {
      sendFrame(loud, Packed.registration("P", "big:1", "x".repeat(1 << 20)).bytes(), false);
      good.send(Packed.registration("P", "a:1", "a:2").bytes(), false);
      awaitWorker("a:1");
      assertThat(fleet.snapshot().worker("big:1")).isNull();
    }
  }

  @Test
  void aPeerWithoutZeroMqDoesNoHarm() throws IOException {
    Random random = new Random(3);
    for (int i = 0; i < 60; i++) {
      try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), registrations.port())) {
        byte[] bytes = new byte[1 + random.nextInt(300)];
        random.nextBytes(bytes);
        switch (i % 4) {
          case 0 -> bytes = "GET / HTTP/1.1\r\nhost: a\r\n\r\n".getBytes(UTF_8);
          case 1 -> System.arraycopy(greeting(), 0, bytes, 0, Math.min(64, bytes.length));
          case 2 -> bytes[0] = (byte) 0xff;
          default -> {}
        }
        socket.getOutputStream().write(bytes);
      } catch (SocketException e) {
        // The listener may close the connection before everything is written.
      }
    }
    Registration said = new Registration("P", "a:1", "a:2", "", 1, 1);
    try (RegistrationPings _ = new RegistrationPings(address(), said, 0.2)) {
      awaitWorker("a:1");
    }
  }

  @Test
  void aPingIsAnswered() throws IOException {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), registrations.port())) {
      DataInputStream in = new DataInputStream(socket.getInputStream());
      OutputStream out = socket.getOutputStream();
      out.write(greeting());
      out.write(new byte[] {4, 6, 5, 'R', 'E', 'A', 'D', 'Y'});
      out.write(new byte[] {4, 9, 4, 'P', 'I', 'N', 'G', 0, 9, 'c', 'x'});
      byte[] greeting = new byte[64];
      in.readFully(greeting);
      assertThat(new String(greeting, UTF_8)).contains("NULL");
      byte[] ready = new byte[2 + 28];
      in.readFully(ready);
      assertThat(new String(ready, UTF_8)).contains("READY").endsWith("ROUTER");
      byte[] pong = new byte[2 + 7];
      in.readFully(pong);
      assertThat(pong).isEqualTo(new byte[] {4, 7, 4, 'P', 'O', 'N', 'G', 'c', 'x'});
    }
  }

  @Test
  void aSilentPeerIsDisconnected() throws IOException {
    List<Socket> sockets = new ArrayList<>();
    try {
      for (int i = 0; i < 3; i++) {
        sockets.add(new Socket(InetAddress.getLoopbackAddress(), registrations.port()));
      }
      // Silent peers: each is closed after the timeout, and none blocks an engine.
      Registration said = new Registration("P", "a:1", "a:2", "", 1, 1);
      try (RegistrationPings _ = new RegistrationPings(address(), said, 0.2)) {
        awaitWorker("a:1");
      }
      for (Socket socket : sockets) {
        socket.getInputStream().skipNBytes(64);
        assertThat(socket.getInputStream().read()).as("the end").isEqualTo(-1);
      }
    } finally {
      for (Socket socket : sockets) {
        socket.close();
      }
    }
  }

  /** The greeting of ZMTP 3.0 without security. */
  private static byte[] greeting() {
    byte[] greeting = new byte[64];
    greeting[0] = (byte) 0xff;
    greeting[9] = 0x7f;
    greeting[10] = 3;
    System.arraycopy("NULL".getBytes(UTF_8), 0, greeting, 12, 4);
    return greeting;
  }

  @Test
  void anOccupiedAddressIsReportedAtTheStart() {
    assertThatThrownBy(() -> all.bind(address()))
        .isInstanceOf(IOException.class)
        .hasMessageContaining(address() + ": Address already in use");
  }

  @Test
  void aClosedListenerReleasesItsPort() throws IOException {
    String address = address();
    registrations.close();
    registrations = used(address);
    assertThat(address()).isEqualTo(address);
  }

  @Test
  void aBoundAddressRegistersNobodyBeforeItsUse() throws IOException {
    try (Registrations.Listener unused = all.bind("127.0.0.1:0")) {
      Registration early = new Registration("P", "10.0.0.8:1", "10.0.0.8:21001", "", 1, 1);
      Registration known = new Registration("P", "10.0.0.9:1", "10.0.0.9:21001", "", 1, 1);
      try (RegistrationPings _ = new RegistrationPings("127.0.0.1:" + unused.port(), early, 0.02);
          RegistrationPings _ = new RegistrationPings(address(), known, 0.02)) {
        awaitWorker("10.0.0.9:1");
        assertThat(fleet.snapshot().worker("10.0.0.8:1")).isNull();
        unused.use();
        awaitWorker("10.0.0.8:1");
      }
    }
  }
}

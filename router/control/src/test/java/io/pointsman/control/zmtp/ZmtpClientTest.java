package io.pointsman.control.zmtp;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.control.zmtp.ZmtpClient.Kind;
import io.pointsman.testkit.Await;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;

/** Tests against another implementation of the protocol, and against violations of it. */
@Timeout(120)
class ZmtpClientTest {
  private static final byte[] EMPTY = {};

  private static InetSocketAddress at(int port) {
    return new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
  }

  @Test
  void subscribesToAnotherImplementation() throws Exception {
    try (ZContext context = new ZContext(1);
        ZmtpClient client = new ZmtpClient(Kind.SUB, 4 << 20)) {
      ZMQ.Socket publisher = context.createSocket(SocketType.XPUB);
      publisher.setLinger(0);
      int port = publisher.bindToRandomPort("tcp://127.0.0.1");
      client.connect(at(port));
      client.subscribe("kv".getBytes(UTF_8));
      assertThat(publisher.recv()).isEqualTo("\u0001kv".getBytes(UTF_8));

      byte[] large = new byte[1 << 20];
      publisher.sendMore("other");
      publisher.sendMore(EMPTY);
      publisher.send(EMPTY);
      publisher.sendMore("kv");
      publisher.sendMore(new byte[8]);
      publisher.send(large);
      List<byte[]> frames = client.next().frames();
      assertThat(frames).hasSize(3);
      assertThat(frames.getFirst()).isEqualTo("kv".getBytes(UTF_8));
      assertThat(frames.getLast()).isEqualTo(large);
    }
  }

  @Test
  void sendsRequestsToAnotherImplementation() throws Exception {
    try (ZContext context = new ZContext(1);
        ZmtpClient client = new ZmtpClient(Kind.DEALER, 1 << 20)) {
      ZMQ.Socket router = context.createSocket(SocketType.ROUTER);
      router.setLinger(0);
      int port = router.bindToRandomPort("tcp://127.0.0.1");
      client.connect(at(port));
      client.send(List.of(EMPTY, "question".getBytes(UTF_8)));
      byte[] who = router.recv();
      assertThat(router.recv()).isEmpty();
      assertThat(router.recvStr()).isEqualTo("question");
      router.sendMore(who);
      router.sendMore(EMPTY);
      router.send("answer");
      assertThat(client.next().frames()).containsExactly(EMPTY, "answer".getBytes(UTF_8));
    }
  }

  @Test
  void aTooLargeMessageIsSkipped() throws Exception {
    try (ZContext context = new ZContext(1);
        ZmtpClient client = new ZmtpClient(Kind.SUB, 1024)) {
      ZMQ.Socket publisher = context.createSocket(SocketType.XPUB);
      publisher.setLinger(0);
      int port = publisher.bindToRandomPort("tcp://127.0.0.1");
      client.connect(at(port));
      client.subscribe(EMPTY);
      publisher.recv();
      publisher.sendMore("a");
      publisher.sendMore(new byte[1020]);
      publisher.send("behind");
      publisher.send("small");
      assertThat(client.next().tooLarge()).isTrue();
      assertThat(client.next().frames()).containsExactly("small".getBytes(UTF_8));
    }
  }

  @Test
  void aSocketOfAnotherKindIsRefused() {
    try (ZContext context = new ZContext(1);
        ZmtpClient client = new ZmtpClient(Kind.SUB, 1024)) {
      ZMQ.Socket pull = context.createSocket(SocketType.PULL);
      int port = pull.bindToRandomPort("tcp://127.0.0.1");
      assertThatThrownBy(() -> client.connect(at(port))).isInstanceOf(IOException.class);
    }
  }

  @Test
  void aPeerWithAnotherProtocolIsRefused() throws Exception {
    try (ServerSocket server = new ServerSocket(0, 5, InetAddress.getLoopbackAddress());
        ZmtpClient client = new ZmtpClient(Kind.SUB, 1024)) {
      Thread.ofVirtual().start(() -> answer(server, "HTTP/1.1 400 Bad Request\r\n\r\n"));
      assertThatThrownBy(() -> client.connect(at(server.getLocalPort())))
          .isInstanceOf(IOException.class)
          .hasMessageContaining("ZMTP");
    }
  }

  private static void answer(ServerSocket server, String text) {
    try (Socket socket = server.accept();
        OutputStream out = socket.getOutputStream()) {
      out.write(text.getBytes(UTF_8));
      socket.getInputStream().readAllBytes();
    } catch (IOException _) {
      // The peer has disconnected.
    }
  }

  @Test
  void closingEndsTheWait() throws Exception {
    ZmtpClient client = new ZmtpClient(Kind.SUB, 1024);
    try (ZContext context = new ZContext(1)) {
      ZMQ.Socket publisher = context.createSocket(SocketType.PUB);
      int port = publisher.bindToRandomPort("tcp://127.0.0.1");
      client.connect(at(port));
      AtomicBoolean ended = new AtomicBoolean();
      Thread.ofVirtual()
          .start(
              () -> {
                try {
                  client.next();
                } catch (IOException _) {
                  ended.set(true);
                }
              });
      client.close();
      Await.until("the wait has ended", ended::get);
    }
  }
}

package io.pointsman.control.discovery;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Lookups against a name server of the test. */
@Timeout(120)
class NettyDnsTest {
  private static final int A = 1;
  private static final int AAAA = 28;
  private static final int SRV = 33;
  private static final int SERVFAIL = 2;
  private static final int NXDOMAIN = 3;

  @TempDir private Path directory;
  private Server server;
  private NettyDns dns;

  /** A name server with a few records, by type and name. */
  private static final class Server implements AutoCloseable {
    private final DatagramSocket socket;
    private final Map<String, List<byte[]>> records = new HashMap<>();
    private final Map<String, Integer> codes = new HashMap<>();
    private volatile int ttl = 17;

    Server() throws IOException {
      socket = new DatagramSocket(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
      Thread.ofPlatform().daemon().start(this::serve);
    }

    InetSocketAddress address() {
      return (InetSocketAddress) socket.getLocalSocketAddress();
    }

    void record(int type, String name, byte[] content) {
      records.computeIfAbsent(type + " " + name, _ -> new ArrayList<>()).add(content);
    }

    void code(int type, String name, int code) {
      codes.put(type + " " + name, code);
    }

    private void serve() {
      byte[] buffer = new byte[4096];
      while (true) {
        try {
          DatagramPacket packet = new DatagramPacket(buffer, buffer.length);
          socket.receive(packet);
          byte[] answer = answer(buffer);
          socket.send(new DatagramPacket(answer, answer.length, packet.getSocketAddress()));
        } catch (IOException e) {
          return;
        }
      }
    }

    private byte[] answer(byte[] query) throws IOException {
      StringBuilder name = new StringBuilder();
      int at = 12;
      while (query[at] != 0) {
        name.append(new String(query, at + 1, query[at], StandardCharsets.US_ASCII)).append('.');
        at += query[at] + 1;
      }
      int end = at + 5;
      int type = (query[at + 1] << 8) + query[at + 2];
      String key = type + " " + name;
      List<byte[]> found = records.getOrDefault(key, List.of());
      ByteArrayOutputStream out = new ByteArrayOutputStream();
      out.write(query, 0, 2);
      out.write(0x81);
      out.write(0x80 | codes.getOrDefault(key, 0));
      out.write(new byte[] {0, 1, 0, (byte) found.size(), 0, 0, 0, 0});
      out.write(query, 12, end - 12);
      for (byte[] each : found) {
        out.write(new byte[] {(byte) 0xc0, 12, 0, (byte) type, 0, 1, 0, 0, 0, (byte) ttl});
        out.write(new byte[] {(byte) (each.length >> 8), (byte) each.length});
        out.write(each);
      }
      return out.toByteArray();
    }

    @Override
    public void close() {
      socket.close();
    }
  }

  @BeforeEach
  void start() throws Exception {
    server = new Server();
    Path resolvConf =
        Files.writeString(
            directory.resolve("resolv.conf"),
            "search ns.svc.cluster.test svc.cluster.test\noptions ndots:5\n");
    dns = new NettyDns(Duration.ofSeconds(30), resolvConf, server.address());
  }

  @AfterEach
  void stop() {
    dns.close();
    server.close();
  }

  private static byte[] service(int port, String host) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    out.write(new byte[] {0, 0, 0, 10, (byte) (port >> 8), (byte) port});
    for (String label : host.split("\\.", -1)) {
      out.write(label.length());
      out.write(label.getBytes(StandardCharsets.US_ASCII));
    }
    out.write(0);
    return out.toByteArray();
  }

  @Test
  void addressesOfBothFamiliesAreFoundWithTheirTime() throws Exception {
    server.record(A, "engines.test.", new byte[] {10, 0, 0, 1});
    server.record(A, "engines.test.", new byte[] {10, 0, 0, 2});
    server.record(AAAA, "engines.test.", InetAddress.getByName("fd00::1").getAddress());
    assertThat(dns.addresses("engines.test."))
        .isEqualTo(
            new DnsLookup.Answer(
                List.of(
                    new DnsLookup.Target("10.0.0.1", 0),
                    new DnsLookup.Target("10.0.0.2", 0),
                    new DnsLookup.Target("fd00:0:0:0:0:0:0:1", 0)),
                17));
  }

  @Test
  void serviceRecordsNameHostAndPort() throws Exception {
    server.record(SRV, "_http._tcp.engines.test.", service(8000, "p1.engines.test"));
    server.record(SRV, "_http._tcp.engines.test.", service(40_001, "p2.engines.test"));
    assertThat(dns.services("_http._tcp.engines.test.").targets())
        .containsExactly(
            new DnsLookup.Target("p1.engines.test", 8000),
            new DnsLookup.Target("p2.engines.test", 40_001));
  }

  @Test
  void aShortNameIsLookedUpInTheSearchPath() throws Exception {
    server.record(A, "engines.inference.svc.cluster.test.", new byte[] {10, 0, 0, 1});
    assertThat(dns.addresses("engines.inference").targets())
        .containsExactly(new DnsLookup.Target("10.0.0.1", 0));
  }

  @Test
  void anUnknownNameHasNoRecords() throws Exception {
    server.code(A, "gone.test.", NXDOMAIN);
    server.code(AAAA, "gone.test.", NXDOMAIN);
    assertThat(dns.addresses("gone.test.").targets()).isEmpty();
  }

  @Test
  void aNameWithoutSuchRecordsHasNone() throws Exception {
    assertThat(dns.services("_http._tcp.empty.test.").targets()).isEmpty();
  }

  @Test
  void aServerThatCannotAnswerIsAFailure() {
    server.code(A, "bad.test.", SERVFAIL);
    server.code(AAAA, "bad.test.", SERVFAIL);
    assertThatThrownBy(() -> dns.addresses("bad.test.")).isInstanceOf(IOException.class);
  }

  @Test
  void oneFamilyWithoutAnAnswerDoesNotHideTheOther() throws Exception {
    server.record(A, "half.test.", new byte[] {10, 0, 0, 1});
    server.code(AAAA, "half.test.", SERVFAIL);
    assertThat(dns.addresses("half.test.").targets())
        .containsExactly(new DnsLookup.Target("10.0.0.1", 0));
  }

  @Test
  void aServerThatDoesNotExistIsAFailure() throws Exception {
    InetSocketAddress nobody = server.address();
    server.close();
    try (NettyDns silent = new NettyDns(Duration.ofMillis(50), directory.resolve("none"), nobody)) {
      assertThatThrownBy(() -> silent.addresses("engines.test.")).isInstanceOf(IOException.class);
    }
  }

  @Test
  void namesOfTheHostsFileCount() throws Exception {
    assertThat(dns.addresses("localhost").targets()).contains(new DnsLookup.Target("127.0.0.1", 0));
  }

  @Test
  void theSearchPathFollowsTheNumberOfDots() throws Exception {
    Path file =
        Files.writeString(
            directory.resolve("other"), "nameserver 10.0.0.1\nsearch one.test two.test.\n");
    SearchPath path = new SearchPath(file);
    assertThat(path.names("a")).containsExactly("a.one.test.", "a.two.test.", "a.");
    assertThat(path.names("a.b")).containsExactly("a.b.", "a.b.one.test.", "a.b.two.test.");
    assertThat(path.names("a.b.")).containsExactly("a.b.");
    assertThat(new SearchPath(directory.resolve("none")).names("a")).containsExactly("a.");
  }
}

package io.pointsman.plane.haproxy;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpServer;
import io.pointsman.testkit.Await;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class LiveLeasesTest {
  private static final int AT_ONCE = 16;

  /** Accepts connections and closes each after its first line. */
  private static final class MuteRouter implements AutoCloseable {
    private final ServerSocket listener =
        new ServerSocket(0, 1024, InetAddress.getLoopbackAddress());
    private final Set<String> asked = ConcurrentHashMap.newKeySet();

    MuteRouter() throws IOException {
      Thread.ofVirtual().name("mute-router").start(this::run);
    }

    private void run() {
      while (!listener.isClosed()) {
        try (Socket socket = listener.accept();
            BufferedReader in =
                new BufferedReader(new InputStreamReader(socket.getInputStream(), US_ASCII))) {
          asked.add(String.valueOf(in.readLine()));
        } catch (IOException e) {
          // The next connection, or the end.
        }
      }
    }

    @Override
    public void close() throws IOException {
      listener.close();
    }
  }

  @Test
  void aRoundStopsAfterAFewLeasesIfTheRouterDoesNotRespond(@TempDir Path directory)
      throws Exception {
    StringBuilder table = new StringBuilder("# table: leases, type: string\n");
    for (int i = 10; i < 210; i++) {
      table.append("0x55: key=").append(i).append("-k use=1 exp=1 gpt0=0 conn_cur=1\n");
    }
    try (FakeRuntime haproxy = new FakeRuntime(directory.resolve("s"));
        MuteRouter mute = new MuteRouter();
        RouterCalls router =
            new RouterCalls(URI.create("http://127.0.0.1:" + mute.listener.getLocalPort()), "")) {
      haproxy.says = _ -> table.toString();
      LiveLeases leases =
          new LiveLeases(new RuntimeApi(directory.resolve("s")), router, Duration.ofSeconds(60));

      leases.renew();

      assertThat(haproxy.received()).hasSize(1);
      assertThat(mute.asked).isNotEmpty().hasSizeLessThanOrEqualTo(AT_ONCE);

      mute.asked.clear();
      leases.renew();
      assertThat(haproxy.received()).hasSize(1);
      assertThat(mute.asked).as("the next round begins anew").isNotEmpty();
    }
  }

  /** Six seconds instead of a minute; the renewal task runs each second. */
  @Test
  void leasesAreRenewedThreeTimesPerGrantedDuration(@TempDir Path directory) throws Exception {
    AtomicInteger renewals = new AtomicInteger();
    HttpServer allowing =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    allowing.createContext(
        "/v1/leases/",
        exchange -> {
          byte[] answer = "{\"lease\":\"1z-k\",\"expires_in_ms\":6000}".getBytes(US_ASCII);
          exchange.sendResponseHeaders(200, answer.length);
          exchange.getResponseBody().write(answer);
          exchange.close();
          renewals.incrementAndGet();
        });
    allowing.start();
    URI url = URI.create("http://127.0.0.1:" + allowing.getAddress().getPort());
    try (FakeRuntime haproxy = new FakeRuntime(directory.resolve("s"));
        RouterCalls router = new RouterCalls(url, "")) {
      LiveLeases leases =
          new LiveLeases(new RuntimeApi(directory.resolve("s")), router, Duration.ofSeconds(60));
      assertThat(leases.beats()).hasSeconds(1);

      leases.beat();
      leases.beat();
      assertThat(haproxy.received()).as("nobody has said yet how long leases last").hasSize(2);

      haproxy.says = _ -> "0x55: key=1z-k use=1 exp=1 gpt0=1 conn_cur=1\n";
      leases.beat();
      Await.until("it is said", () -> leases.grantedMillis() == 6_000);
      for (int i = 0; i < 30; i++) {
        leases.beat();
        int sent = (i + 1) / 2 + 1;
        Await.until("renewed", () -> renewals.get() >= sent);
        Await.until("it is said", () -> leases.grantedMillis() == 6_000);
      }
      assertThat(haproxy.received()).hasSize(16);
    } finally {
      allowing.stop(0);
    }
  }

  @Test
  void leasesAreReadFromHaproxysTable() {
    String table =
        """
        # table: leases, type: string, size:100, used:3
        0x556a4d6a0d38: key=1z-kd8w0qm3x1 use=1 exp=8917 gpt0=1 conn_cur=1
        0x556a4d6a0e38: key=20-kd use=2 exp=0 shard=0 gpt0=0 conn_cur=2
        0x556a4d6a0e68: key=550e8400-e29b-41d4-a716-446655440000 use=1 exp=0 gpt0=0 conn_cur=1
        0x556a4d6a0f38: key=none use=2 exp=0 gpt0=0 conn_cur=2
        """;

    assertThat(LiveLeases.alive(table))
        .containsExactly(
            new LiveLeases.Live("1z-kd8w0qm3x1", true),
            new LiveLeases.Live("20-kd", false),
            new LiveLeases.Live("550e8400-e29b-41d4-a716-446655440000", false));
    assertThat(LiveLeases.alive("# table: leases, type: string, size:100, used:0\n")).isEmpty();
  }

  @Test
  void aDurationTooShortForRenewalsIsRefused() {
    HaproxySettings usual =
        HaproxySettings.of(
            InetSocketAddress.createUnresolved("127.0.0.1", 0),
            URI.create("http://127.0.0.1:1"),
            InetSocketAddress.createUnresolved("127.0.0.1", 4));

    assertThat(usual.withTtl(Duration.ofSeconds(1)).ttl()).hasSeconds(1);
    assertThatThrownBy(() -> usual.withTtl(Duration.ofMillis(999)))
        .hasMessage("ttl: PT0.999S (expected: >= PT1S)");
  }
}

package io.pointsman.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import io.pointsman.config.settings.KubernetesSettings;
import io.pointsman.config.settings.PodSelector;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.WorkerSources;
import io.pointsman.testkit.Await;
import io.pointsman.testkit.FakeClock;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A kubeconfig that names a file with the token. */
@Timeout(180)
class TokenFileTest {
  /** The client's property for the path of the kubeconfig. */
  private static final String KUBECONFIG = "kubeconfig";

  @TempDir Path directory;

  private final FakeClock clock = new FakeClock();

  @AfterEach
  void forget() {
    System.clearProperty(KUBECONFIG);
  }

  private Path kubeconfig(String server, String user) throws IOException {
    Path file = directory.resolve("config");
    Files.writeString(
        file,
        """
        apiVersion: v1
        kind: Config
        current-context: c
        contexts:
        - name: c
          context: {cluster: c, user: u}
        clusters:
        - name: c
          cluster: {server: '%s'}
        users:
        - name: other
          user: {token: wrong}
        - name: u
          user: %s
        """
            .formatted(server, user));
    System.setProperty(KUBECONFIG, file.toString());
    return file;
  }

  @Test
  void theTokenIsReadAgainForEachRequest() throws Exception {
    Set<String> seen = ConcurrentHashMap.newKeySet();
    HttpServer api =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 16);
    api.createContext(
        "/",
        exchange -> {
          seen.add(String.valueOf(exchange.getRequestHeaders().getFirst("authorization")));
          exchange.sendResponseHeaders(503, -1);
          exchange.close();
        });
    api.start();
    Files.writeString(directory.resolve("token"), "first\n");
    kubeconfig("http://127.0.0.1:" + api.getAddress().getPort(), "{tokenFile: token}");
    KubernetesSettings settings =
        new KubernetesSettings(PodSelector.of(Map.of("app", "vllm")), "default", 8000, 1, "");
    Fleet fleet = new Fleet(FleetSettings.DEFAULTS, clock::nanos);
    try (PodDiscovery _ =
        PodDiscovery.open(
                settings, fleet, new WorkerSources(fleet), clock::nanos, PodDiscovery.Listener.NONE)
            .begin()) {
      Await.until("the token is sent", () -> seen.contains("Bearer first"));
      Files.writeString(directory.resolve("token"), "second");
      Await.until("the new token is sent", () -> seen.contains("Bearer second"));
      assertThat(seen).containsExactlyInAnyOrder("Bearer first", "Bearer second");
    } finally {
      api.stop(0);
    }
  }

  @Test
  void theLastTokenStaysWithoutTheFile() throws Exception {
    Path file = Files.writeString(directory.resolve("token"), "first");
    TokenFile token = new TokenFile(file);
    assertThat(token.getToken()).isEqualTo("first");
    Files.writeString(file, "");
    assertThat(token.getToken()).isEqualTo("first");
    Files.delete(file);
    assertThat(token.getToken()).isEqualTo("first");
  }

  @Test
  void aPlainTokenStays() throws Exception {
    kubeconfig("http://127.0.0.1:1", "{token: plain}");
    assertThat(
            PodDiscovery.config(new KubernetesSettings(PodSelector.NONE, "default", 8000, 1, ""))
                .getAutoOAuthToken())
        .isEqualTo("plain");
  }
}

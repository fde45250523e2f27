package io.pointsman.server.wiring;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import io.pointsman.control.env.SystemTicker;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
class KeyServersTest {
  private final KeyServers servers =
      new KeyServers(
          new SystemTicker(), (host, _) -> java.util.List.of(InetAddress.getAllByName(host)), "");
  private int status = 200;

  @SuppressWarnings("NullAway.Init")
  private HttpServer server;

  @BeforeEach
  void open() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(
        "/",
        exchange -> {
          boolean known = "Bearer k".equals(exchange.getRequestHeaders().getFirst("authorization"));
          exchange.sendResponseHeaders(known ? status : 401, -1);
          exchange.close();
        });
    server.start();
  }

  @AfterEach
  void close() {
    server.stop(0);
  }

  private String url() {
    return "http://127.0.0.1:" + server.getAddress().getPort() + "/check";
  }

  @Test
  void aKeyIsConfirmedBy200() {
    assertThat(servers.confirmed(url(), "k")).isTrue();
    assertThat(servers.confirmed(url(), "other")).isFalse();
  }

  @ParameterizedTest
  @ValueSource(ints = {204, 302, 400, 401, 403, 404})
  void otherStatusesRefuseAKey(int status) {
    this.status = status;
    assertThat(servers.confirmed(url(), "k")).isFalse();
  }

  @ParameterizedTest
  @ValueSource(ints = {408, 429, 500, 502, 503, 504})
  void serverErrorsGiveNoVerdict(int status) {
    this.status = status;
    assertThat(servers.confirmed(url(), "k")).isNull();
  }

  @Test
  void anUnreachableServerGivesNoVerdict() {
    String url = url();
    server.stop(0);
    assertThat(servers.confirmed(url, "k")).isNull();
  }
}

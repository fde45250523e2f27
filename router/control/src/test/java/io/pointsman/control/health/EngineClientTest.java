package io.pointsman.control.health;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.control.env.SystemTicker;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.proxy.upstream.EngineKeys;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
class EngineClientTest {
  private static final Duration GENEROUS = Duration.ofSeconds(60);

  private final BlockingQueue<List<String>> heads = new LinkedBlockingQueue<>();
  private volatile String answer = "";
  private volatile boolean keepOpen;
  private ServerSocket server;

  @BeforeEach
  void open() throws IOException {
    server = new ServerSocket(0, 10, InetAddress.getLoopbackAddress());
    Thread.startVirtualThread(this::serve);
  }

  @AfterEach
  void close() throws IOException {
    server.close();
  }

  private void serve() {
    while (!server.isClosed()) {
      try {
        Socket socket = server.accept();
        BufferedReader in =
            new BufferedReader(
                new InputStreamReader(socket.getInputStream(), StandardCharsets.ISO_8859_1));
        List<String> head = new ArrayList<>();
        for (String line = in.readLine(); line != null && !line.isEmpty(); line = in.readLine()) {
          head.add(line);
        }
        heads.add(head);
        socket.getOutputStream().write(answer.getBytes(StandardCharsets.ISO_8859_1));
        if (!keepOpen) {
          socket.close();
        }
      } catch (IOException _) {
        return;
      }
    }
  }

  private String url(String path) {
    return "http://127.0.0.1:" + server.getLocalPort() + path;
  }

  private static EngineClient client(EngineKeys keys) {
    return new EngineClient(keys, new SystemTicker());
  }

  private EngineClient.Answer get(String path) throws IOException {
    return client(EngineKeys.NONE).send(Role.REGULAR, "GET", url(path), GENEROUS);
  }

  private static String text(EngineClient.Answer answer) {
    return new String(answer.body(), StandardCharsets.ISO_8859_1);
  }

  @Test
  void aBodyOfKnownLengthIsReadWithoutWaitingForTheEndOfTheConnection() throws IOException {
    keepOpen = true;
    answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello-and-more";
    EngineClient.Answer read = get("/v1/models?x=1");
    assertThat(read.status()).isEqualTo(200);
    assertThat(read.good()).isTrue();
    assertThat(text(read)).isEqualTo("hello");
  }

  @Test
  void aChunkedBodyIsPutTogether() throws IOException {
    String chunks = "3;a=b\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n";
    answer = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + chunks;
    assertThat(text(get("/"))).isEqualTo("abc0123456789");
  }

  @Test
  void aBodyWithoutLengthEndsWithTheConnection() throws IOException {
    answer = "HTTP/1.0 404 Not Found\r\n\r\nnothing here";
    EngineClient.Answer read = get("/x");
    assertThat(read.status()).isEqualTo(404);
    assertThat(read.good()).isFalse();
    assertThat(text(read)).isEqualTo("nothing here");
  }

  @Test
  void aNameWithAnUnderscoreIsLookedUp() {
    EngineClient client = client(EngineKeys.NONE);
    assertThatThrownBy(
            () -> client.send(Role.REGULAR, "GET", "http://no_such_name.invalid:1/", GENEROUS))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("no_such_name.invalid");
  }

  @Test
  void anEngineGetsTheKeyOfItsRole() throws Exception {
    answer = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
    EngineClient client = client(new EngineKeys("all", "ours", null));
    for (Role role : Role.values()) {
      client.send(role, "GET", url("/"), GENEROUS);
      assertThat(heads.poll(60, TimeUnit.SECONDS))
          .contains("authorization: Bearer " + (role == Role.PREFILL ? "ours" : "all"));
    }
  }

  @Test
  void anEngineGetsTheKeyOfItsUrlFirst() throws Exception {
    answer = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
    EngineClient client = client(EngineKeys.of("all").withByUrl(Map.of(url("/v1"), "own")));
    client.send(WorkerSpec.of(url("/v1")), "GET", url("/v1/models"), GENEROUS);
    assertThat(heads.poll(60, TimeUnit.SECONDS)).contains("authorization: Bearer own");
  }

  @Test
  void aWorkerWithoutARightToTheKeyGetsNoKeyOfAClientInItsPlace() throws Exception {
    answer = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
    WorkerSpec withheld =
        WorkerSpec.of(url("")).withLabels(Map.of(EngineKeys.LABEL, EngineKeys.WITHHELD));
    EngineClient client = client(new EngineKeys("all", null, null, true));
    client.post(withheld, url("/tokenize"), new byte[0], "Bearer client", GENEROUS);
    assertThat(heads.poll(60, TimeUnit.SECONDS)).noneMatch(line -> line.contains("Bearer"));
    Map<String, String> headers = Map.of("authorization", "Bearer client");
    client.forward(withheld, "POST", url("/sleep"), headers, null, GENEROUS);
    assertThat(heads.poll(60, TimeUnit.SECONDS)).noneMatch(line -> line.contains("Bearer"));
    client(EngineKeys.of("all"))
        .post(withheld, url("/tokenize"), new byte[0], "Bearer client", GENEROUS);
    assertThat(heads.poll(60, TimeUnit.SECONDS)).contains("authorization: Bearer client");
  }

  @Test
  void theRequestNamesPathHostAndKey() throws Exception {
    answer = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
    client(EngineKeys.of("sk-1")).send(Role.REGULAR, "POST", url("/a/b?c=d"), GENEROUS);
    List<String> head = heads.poll(60, TimeUnit.SECONDS);
    assertThat(head)
        .startsWith("POST /a/b?c=d HTTP/1.1", "host: 127.0.0.1:" + server.getLocalPort())
        .contains("authorization: Bearer sk-1", "content-length: 0", "connection: close");
    get("");
    assertThat(heads.poll(60, TimeUnit.SECONDS))
        .startsWith("GET / HTTP/1.1")
        .noneMatch(line -> line.startsWith("authorization"));
  }

  @Test
  void anIncompleteResponseIsAFailure() {
    answer = "HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\nhalf";
    assertThatThrownBy(() -> get("/"))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("ended");
    answer = "HTTP/1.1 200 OK\r\ncontent-le";
    assertThatThrownBy(() -> get("/"))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("ended");
  }

  @Test
  void invalidHttpIsAFailure() {
    answer = "SSH-2.0-x\r\n\r\n";
    assertThatThrownBy(() -> get("/")).isInstanceOf(IOException.class).hasMessageContaining("HTTP");
    answer = "HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n";
    assertThatThrownBy(() -> get("/")).isInstanceOf(IOException.class).hasMessageContaining("HTTP");
  }

  @Test
  void aTooLongResponseIsAFailure() {
    answer = "HTTP/1.1 200 OK\r\ncontent-length: " + (EngineClient.MOST_BYTES + 1) + "\r\n\r\n";
    assertThatThrownBy(() -> get("/"))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("bytes");
  }

  @Test
  void aSilentEngineFailsAtTheDeadline() {
    keepOpen = true;
    assertThatThrownBy(
            () ->
                client(EngineKeys.NONE).send(Role.REGULAR, "GET", url("/"), Duration.ofMillis(50)))
        .isInstanceOf(IOException.class);
  }

  /** Servers of other protocols mostly close the connection; this one may also be slow HTTP. */
  @ParameterizedTest
  @ValueSource(strings = {"SSH-2.0-x", "HTT", "HTTP/1.1 2"})
  void anEngineThatStopsWithinTheFirstLineTimesOut(String sent) {
    keepOpen = true;
    answer = sent;
    assertThatThrownBy(
            () ->
                client(EngineKeys.NONE).send(Role.REGULAR, "GET", url("/"), Duration.ofMillis(200)))
        .isInstanceOf(SocketTimeoutException.class);
  }

  @Test
  void aClosedPortIsAFailure() throws IOException {
    server.close();
    assertThatThrownBy(() -> get("/")).isInstanceOf(IOException.class);
  }
}

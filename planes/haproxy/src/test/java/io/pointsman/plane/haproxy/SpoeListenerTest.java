package io.pointsman.plane.haproxy;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.proxy.identity.ClientIdentity;
import io.pointsman.proxy.identity.KeyHolder;
import io.pointsman.proxy.identity.KeyRole;
import io.pointsman.proxy.local.CallerCheck;
import io.pointsman.proxy.local.LocalEndpoint;
import io.pointsman.proxy.local.LocalRequest;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.testkit.Await;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.Socket;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class SpoeListenerTest {
  private static final int HELLO = 1;
  private static final int DISCONNECT = 2;
  private static final int NOTIFY = 3;
  private static final String CHOSEN =
      "{\"host\":\"h\",\"port\":1,\"replica_id\":\"w1\",\"lease\":\"l-1\","
          + "\"request_headers\":{\"X-data-parallel-rank\":\"3\"}}";

  private final Queue<LocalRequest> questions = new ConcurrentLinkedQueue<>();
  private @Nullable SpoeListener listener;

  @AfterEach
  void close() {
    if (listener != null) {
      listener.close();
    }
  }

  private Client client(LocalEndpoint route, CallerCheck callers) throws IOException {
    SpoeListener opened = SpoeListener.bind("127.0.0.1:0");
    listener = opened;
    opened.begin(route, callers);
    return new Client(opened.port());
  }

  private Client client(String answer) throws IOException {
    return client(
        request -> {
          questions.add(request);
          return LocalResponse.json(200, answer);
        },
        CallerCheck.NONE);
  }

  /** A received frame: its type, message id, and named values. */
  private record Frame(int type, long id, Map<String, Object> said) {}

  /** A client that acts like HAProxy. */
  private static final class Client implements AutoCloseable {
    private final Socket socket;
    private final DataInputStream in;
    private final OutputStream out;

    Client(int port) throws IOException {
      socket = new Socket(InetAddress.getLoopbackAddress(), port);
      in = new DataInputStream(socket.getInputStream());
      out = socket.getOutputStream();
    }

    Frame hello(String versions, long size, boolean check) throws IOException {
      SpoeWriter writer = new SpoeWriter().begin(HELLO, 0, 0);
      writer.entry("supported-versions", versions).entry("max-frame-size", size);
      writer.entry("capabilities", "pipelining,async");
      if (check) {
        writer.text("healthcheck").octet(0x11);
      }
      writer.end();
      writer.flushTo(out);
      return read();
    }

    void ask(SpoeWriter writer, long id, byte[] body, String... headers) throws IOException {
      ByteArrayOutputStream binary = new ByteArrayOutputStream();
      SpoeWriter lines = new SpoeWriter();
      for (String each : headers) {
        lines.text(each);
      }
      lines.text("").text("").flushTo(binary);
      writer.begin(NOTIFY, 7, id).text("request").octet(7);
      writer.entry("lease", "named-by-haproxy");
      writer.entry("ttl", 60_000).entry("method", "POST").entry("path", "/v1/completions");
      writer.entry("length", Integer.toString(body.length + 1));
      bytes(writer.text("headers"), binary.toByteArray());
      bytes(writer.text("body"), body);
      writer.end();
    }

    private static void bytes(SpoeWriter writer, byte[] bytes) {
      writer.octet(9).number(bytes.length);
      for (byte each : bytes) {
        writer.octet(each);
      }
    }

    Frame read() throws IOException {
      byte[] bytes = in.readNBytes(in.readInt());
      SpoeReader reader = new SpoeReader(bytes, 0, bytes.length);
      int type = reader.octet();
      assertThat(reader.word()).isEqualTo(1);
      reader.number();
      long id = reader.number();
      Map<String, Object> said = new HashMap<>();
      while (reader.hasMore()) {
        if (type == 103) {
          assertThat(List.of(reader.octet(), reader.octet(), reader.octet()))
              .containsExactly(1, 3, 2);
        }
        String name = reader.text();
        said.put(name, String.valueOf(reader.value()));
      }
      return new Frame(type, id, said);
    }

    @Override
    public void close() throws IOException {
      socket.close();
    }
  }

  @Test
  void aMessageBecomesAQueryAndItsResponseBecomesVariables() throws Exception {
    try (Client client = client(CHOSEN)) {
      Frame hello = client.hello("2.0", 16_380, false);
      assertThat(hello.type()).isEqualTo(101);
      assertThat(hello.said())
          .containsEntry("version", "2.0")
          .containsEntry("max-frame-size", "16380");

      SpoeWriter writer = new SpoeWriter();
      String[] headers = {"X-A", "1", "x-a", "2", "x-b", "", "x-pointsman-lease", "forged"};
      client.ask(writer, 1, "{\"a\":1}".getBytes(UTF_8), headers);
      writer.flushTo(client.out);

      assertThat(client.read())
          .isEqualTo(new Frame(103, 1, Map.of("worker", "w1", "lease", "l-1", "rank", "3")));
      LocalRequest question = questions.element();
      assertThat(question.path()).isEqualTo("/internal/route");
      assertThat(question.body()).isEqualTo("{\"a\":1}".getBytes(UTF_8));
      assertThat(question.truncated()).isTrue();
      assertThat(question.headers())
          .containsEntry("x-a", List.of("1", "2"))
          .containsEntry("x-b", List.of(""))
          .containsEntry("x-pointsman-lease-ttl", List.of("60000"))
          .containsEntry("x-pointsman-lease", List.of("named-by-haproxy"))
          .containsEntry("x-serve-request-method", List.of("POST"))
          .containsEntry("x-serve-request-path", List.of("/v1/completions"));
    }
  }

  /** Fills a connection with answers until the router can write no more. */
  private static void fill(Client client, AtomicInteger asked) {
    try {
      while (true) {
        SpoeWriter writer = new SpoeWriter();
        client.ask(writer, asked.incrementAndGet(), new byte[8000]);
        writer.flushTo(client.out);
      }
    } catch (IOException e) {
      // The router has closed the connection.
    }
  }

  @Test
  void aConnectionThatReadsNothingDoesNotBlockARetirement() throws Exception {
    AtomicInteger asked = new AtomicInteger();
    LocalResponse large = LocalResponse.json(503, "{\"e\":\"" + "x".repeat(8000) + "\"}");
    try (Client client = client(_ -> large, CallerCheck.NONE)) {
      client.hello("2.0", 131_068, false);
      Thread fills = Thread.ofVirtual().start(() -> fill(client, asked));
      int before = -1;
      while (asked.get() < 100 || asked.get() != before) {
        before = asked.get();
        assertThat(fills.join(Duration.ofSeconds(1))).as("it still writes").isFalse();
      }
      SpoeListener retiring = Objects.requireNonNull(listener);
      Thread retires = Thread.ofVirtual().start(retiring::retire);
      assertThat(retires.join(Duration.ofSeconds(4))).as("it has returned").isTrue();
      Await.until("its connections have ended", retiring::ended);
      fills.join();
    }
  }

  @Test
  void pipelinedMessagesAreAllAnswered() throws Exception {
    try (Client client = client(CHOSEN)) {
      client.hello("2.0", 131_068, false);
      SpoeWriter writer = new SpoeWriter();
      for (int i = 0; i < 500; i++) {
        client.ask(writer, i, new byte[i]);
      }
      writer.flushTo(client.out);
      for (int i = 0; i < 500; i++) {
        assertThat(client.read().id()).isEqualTo(i);
      }
    }
  }

  @Test
  void refusalsAreSentWithTheirBodyAndOtherFailuresNotAtAll() throws Exception {
    LocalResponse[] next = {
      LocalResponse.json(503, "{\"e\":\"\u00e4\"}").withHeader("retry-after", "4")
    };
    try (Client client =
        client(
            _ -> {
              if (next[0].status() == 599) {
                throw new IllegalStateException("broken on purpose");
              }
              return next[0];
            },
            CallerCheck.NONE)) {
      client.hello("2.0", 16_380, false);
      assertThat(asked(client).said())
          .isEqualTo(Map.of("status", "503", "body", "{\"e\":\"\u00e4\"}", "retry", "4"));
      next[0] = LocalResponse.json(503, "{}").withHeader("x-pointsman-unplaced", "1");
      assertThat(asked(client).said()).isEqualTo(Map.of("unplaced", "1"));
      next[0] = LocalResponse.json(500, "{}");
      assertThat(asked(client).said()).isEmpty();
      next[0] = LocalResponse.json(200, "[]");
      assertThat(asked(client).said()).isEmpty();
      next[0] = LocalResponse.json(200, "no json");
      assertThat(asked(client).said()).isEmpty();
      next[0] = LocalResponse.json(599, "");
      assertThat(asked(client).said()).isEmpty();
    }
  }

  /** HAProxy closes a connection with frames larger than agreed. */
  @Test
  void aTooLongResponseIsSentEmpty() throws Exception {
    String[] body = {"x".repeat(1_000)};
    try (Client client = client(_ -> LocalResponse.json(404, body[0]), CallerCheck.NONE)) {
      client.hello("2.0", 1_000, false);
      SpoeWriter writer = new SpoeWriter();
      client.ask(writer, 1, new byte[0]);
      client.ask(writer, 2, new byte[0]);
      writer.flushTo(client.out);
      assertThat(client.read()).isEqualTo(new Frame(103, 1, Map.of()));
      assertThat(client.read()).isEqualTo(new Frame(103, 2, Map.of()));
      body[0] = "short";
      assertThat(asked(client).said()).isEqualTo(Map.of("status", "404", "body", "short"));
    }
  }

  private static Frame asked(Client client, String... headers) throws IOException {
    SpoeWriter writer = new SpoeWriter();
    client.ask(writer, 9, new byte[0], headers);
    writer.flushTo(client.out);
    return client.read();
  }

  @Test
  void aSlowKeyValidationDelaysNoOtherMessage() throws Exception {
    CountDownLatch asked = new CountDownLatch(1);
    CallerCheck callers =
        new CallerCheck() {
          @Override
          public Verdict known(@Nullable String authorization) {
            return authorization == null
                ? Verdict.REFUSED
                : authorization.equals("new") ? Verdict.UNKNOWN : Verdict.ADMITTED;
          }

          @Override
          public Verdict ask(String authorization) {
            try {
              return asked.await(60, TimeUnit.SECONDS) ? Verdict.ADMITTED : Verdict.UNKNOWN;
            } catch (InterruptedException e) {
              throw new AssertionError(e);
            }
          }
        };
    try (Client client = client(_ -> LocalResponse.json(200, CHOSEN), callers)) {
      client.hello("2.0", 16_380, false);
      SpoeWriter writer = new SpoeWriter();
      client.ask(writer, 1, new byte[0], "authorization", "new");
      client.ask(writer, 2, new byte[0], "authorization", "known");
      client.ask(writer, 3, new byte[0]);
      writer.flushTo(client.out);

      assertThat(client.read().id()).isEqualTo(2);
      Frame refused = client.read();
      assertThat(refused.id()).isEqualTo(3);
      assertThat(refused.said()).containsEntry("status", "401");
      assertThat(String.valueOf(refused.said().get("body"))).contains("invalid_api_key");
      asked.countDown();
      Frame admitted = client.read();
      assertThat(admitted.id()).isEqualTo(1);
      assertThat(admitted.said()).containsEntry("worker", "w1");
    }
  }

  @Test
  void aKeyOfTheRouterNamesTheClientAndOtherRolesAreRefused() throws Exception {
    CallerCheck callers =
        new CallerCheck() {
          @Override
          public Verdict known(@Nullable String authorization) {
            return Verdict.REFUSED;
          }

          @Override
          public Verdict ask(String authorization) {
            return Verdict.REFUSED;
          }

          @Override
          public @Nullable KeyHolder holder(@Nullable String authorization) {
            boolean client = "Bearer alice".equals(authorization);
            KeyRole role = client ? KeyRole.CLIENT : KeyRole.ADMIN;
            return new KeyHolder(
                new ClientIdentity(ClientIdentity.Kind.KEY, client ? "alice" : "ops", Set.of()),
                role);
          }
        };
    LocalEndpoint route =
        request -> {
          questions.add(request);
          return LocalResponse.json(200, CHOSEN);
        };
    try (Client client = client(route, callers)) {
      client.hello("2.0", 16_380, false);
      assertThat(asked(client, "x-api-key", "alice").said()).containsEntry("worker", "w1");
      assertThat(questions.element().client().name()).isEqualTo("alice");
      Frame refused = asked(client, "authorization", "Bearer ops");
      assertThat(refused.said()).containsEntry("status", "403");
      assertThat(String.valueOf(refused.said().get("body"))).contains("key_not_permitted");
      assertThat(questions).hasSize(1);
    }
  }

  @Test
  void aListenerThatRetiresEndsItsAnswersAndItsConnections() throws Exception {
    CountDownLatch asked = new CountDownLatch(1);
    CountDownLatch answers = new CountDownLatch(1);
    CallerCheck callers =
        new CallerCheck() {
          @Override
          public Verdict known(@Nullable String authorization) {
            return authorization == null ? Verdict.ADMITTED : Verdict.UNKNOWN;
          }

          @Override
          public Verdict ask(String authorization) {
            asked.countDown();
            try {
              return answers.await(60, TimeUnit.SECONDS) ? Verdict.ADMITTED : Verdict.UNKNOWN;
            } catch (InterruptedException e) {
              throw new AssertionError(e);
            }
          }
        };
    try (Client busy = client(_ -> LocalResponse.json(200, CHOSEN), callers);
        Client idle = new Client(port())) {
      busy.hello("2.0", 16_380, false);
      idle.hello("2.0", 16_380, false);
      SpoeWriter writer = new SpoeWriter();
      busy.ask(writer, 1, new byte[0], "authorization", "new");
      writer.flushTo(busy.out);
      assertThat(asked.await(60, TimeUnit.SECONDS)).isTrue();

      int port = port();
      java.util.Objects.requireNonNull(listener).retire();

      Frame end = idle.read();
      assertThat(end.type()).isEqualTo(102);
      assertThat(end.said()).containsEntry("status-code", "0");
      assertThat(idle.in.read()).isEqualTo(-1);
      assertThatThrownBy(() -> new Client(port).close()).isInstanceOf(ConnectException.class);
      answers.countDown();
      Frame answer = busy.read();
      assertThat(answer.id()).isEqualTo(1);
      assertThat(answer.said()).containsEntry("worker", "w1");
      assertThat(busy.read().type()).isEqualTo(102);
      assertThat(busy.in.read()).isEqualTo(-1);
    }
    Await.until("the end", () -> java.util.Objects.requireNonNull(listener).ended());
  }

  @Test
  void connectionsWaitUntilTheListenerBegins() throws Exception {
    SpoeListener bound = SpoeListener.bind("127.0.0.1:0");
    listener = bound;
    try (Client early = new Client(bound.port())) {
      bound.begin(_ -> LocalResponse.json(200, CHOSEN), CallerCheck.NONE);
      assertThat(early.hello("2.0", 16_380, false).type()).isEqualTo(101);
      assertThat(asked(early).said()).containsEntry("worker", "w1");
    }
  }

  @Test
  void invalidHellosAreRefusedWithTheReason() throws Exception {
    try (Client client = client(CHOSEN)) {
      Frame answer = client.hello("3.0", 16_380, false);
      assertThat(answer.type()).isEqualTo(102);
      assertThat(answer.said()).containsEntry("status-code", "8");
      assertThat(client.in.read()).isEqualTo(-1);
    }
    try (Client client = new Client(port())) {
      assertThat(client.hello("1.0, 2.0", 100, false).said()).containsEntry("status-code", "6");
    }
    try (Client client = new Client(port())) {
      assertThat(client.hello("2.0", 16_380, true).type()).isEqualTo(101);
      assertThat(client.in.read()).isEqualTo(-1);
    }
  }

  private int port() {
    return java.util.Objects.requireNonNull(listener).port();
  }

  @Test
  void tooLargeOrMalformedFramesEndTheConnection() throws Exception {
    try (Client client = client(CHOSEN)) {
      client.hello("2.0", 1_000, false);
      SpoeWriter writer = new SpoeWriter();
      client.ask(writer, 1, new byte[1_000]);
      writer.flushTo(client.out);
      assertThat(client.read().said()).containsEntry("status-code", "3");
    }
    try (Client client = new Client(port())) {
      client.hello("2.0", 1_000, false);
      byte[] cut = new byte[24];
      Arrays.fill(cut, (byte) 0xff);
      client.out.write(new byte[] {0, 0, 0, 24});
      client.out.write(cut);
      Frame answer = client.read();
      assertThat(answer.type()).isEqualTo(102);
      assertThat(answer.said()).containsEntry("status-code", "4");
    }
    try (Client client = new Client(port())) {
      client.hello("2.0", 1_000, false);
      SpoeWriter writer = new SpoeWriter().begin(DISCONNECT, 0, 0);
      writer.entry("status-code", 0).entry("message", "bye").end();
      writer.flushTo(client.out);
      assertThat(client.read().said()).containsEntry("status-code", "0");
      assertThat(client.in.read()).isEqualTo(-1);
    }
    try (Client client = new Client(port())) {
      client.hello("2.0", 1_000, false);
      assertThat(asked(client).said()).containsEntry("worker", "w1");
    }
  }

  private Client limited(SpoeLimits limits) throws IOException {
    SpoeListener opened = SpoeListener.bind("127.0.0.1:0", limits);
    listener = opened;
    opened.begin(_ -> LocalResponse.json(200, CHOSEN), CallerCheck.NONE);
    return new Client(opened.port());
  }

  @Test
  void anIdleConnectionGetsADisconnect() throws Exception {
    Duration day = Duration.ofDays(1);
    try (Client client = limited(new SpoeLimits(8, day, Duration.ofMillis(20)))) {
      assertThat(client.hello("2.0", 16_380, false).type()).isEqualTo(101);
      Frame end = client.read();
      assertThat(end.type()).isEqualTo(102);
      assertThat(end.said()).containsEntry("status-code", "2");
      assertThat(client.in.read()).isEqualTo(-1);
    }
  }

  @Test
  void aMissingHelloEndsTheConnection() throws Exception {
    Duration day = Duration.ofDays(1);
    try (Client client = limited(new SpoeLimits(8, Duration.ofMillis(20), day))) {
      assertThat(client.read().said()).containsEntry("status-code", "2");
      assertThat(client.in.read()).isEqualTo(-1);
    }
  }

  @Test
  void theNumberOfConnectionsIsLimited() throws Exception {
    Duration day = Duration.ofDays(1);
    try (Client first = limited(new SpoeLimits(2, day, day));
        Client second = new Client(port())) {
      assertThat(first.hello("2.0", 16_380, false).type()).isEqualTo(101);
      assertThat(second.hello("2.0", 16_380, false).type()).isEqualTo(101);
      try (Client third = new Client(port())) {
        assertThat(third.in.read()).isEqualTo(-1);
      }
      assertThat(asked(first).said()).containsEntry("worker", "w1");
      assertThat(asked(second).said()).containsEntry("worker", "w1");
    }
  }
}

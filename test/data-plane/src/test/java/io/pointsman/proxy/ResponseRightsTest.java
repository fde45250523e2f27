package io.pointsman.proxy;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.proxy.identity.ClientIdentity;
import io.pointsman.proxy.identity.ClientIdentity.Kind;
import io.pointsman.proxy.local.CallerCheck;
import io.pointsman.proxy.settings.ClientLimits;
import io.pointsman.proxy.settings.LimitSettings;
import io.pointsman.request.RequestHeaders;
import io.pointsman.testkit.engine.EngineScript;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Clients with keys use their own stored responses only. */
@SuppressWarnings("try") // tests may be interrupted
@Timeout(60)
class ResponseRightsTest {
  /**
   * Keys with a name, and keys without one.
   *
   * @param confirms true if a server confirms the keys without a name
   */
  private record Keys(boolean confirms) implements CallerCheck {
    private static final Map<String, ClientIdentity> NAMED =
        Map.of(
            "Bearer alice", new ClientIdentity(Kind.KEY, "alice", Set.of()),
            "Bearer bob", new ClientIdentity(Kind.KEY, "bob", Set.of()),
            "Bearer two", new ClientIdentity(Kind.KEY, "two", Set.of("m2")));

    @Override
    public Verdict known(@Nullable String authorization) {
      return authorization == null ? Verdict.REFUSED : Verdict.ADMITTED;
    }

    @Override
    public Verdict ask(String authorization) {
      return Verdict.ADMITTED;
    }

    @Override
    public Admittance admission(@Nullable String authorization) {
      ClientIdentity client = authorization == null ? null : NAMED.get(authorization);
      return client == null
          ? Admittance.of(known(authorization))
          : new Admittance(Verdict.ADMITTED, client);
    }

    @Override
    public @Nullable Principal sentFor(RequestHeaders headers, ClientIdentity sender) {
      String owner = headers.first("x-owner");
      return owner == null ? null : new Principal(ClientIdentity.UNKNOWN, owner);
    }
  }

  private final AtomicInteger created = new AtomicInteger();

  @SuppressWarnings("NullAway.Init") // started at the begin of each test
  private ProxyRig rig;

  @SuppressWarnings("NullAway.Init") // started at the begin of each test
  private ScriptedEngine engine;

  private void start(boolean search) throws Exception {
    ClientLimits limits = ClientLimits.DEFAULTS.withSearchesUnowned(search);
    rig =
        new ProxyRig(
            Transport.AUTO,
            ProxySettings.DEFAULTS.withLimits(
                LimitSettings.DEFAULTS.withMaxBufferedBody(2000).withClients(limits)));
    rig.callers = new Keys(true);
    engine = rig.closing(ScriptedEngine.start(keeper()));
    rig.worker(WorkerSpec.of(engine.url()).withModels(Set.of("m", "m2")));
  }

  /** Has every response that it is asked for. A client chooses the id of a new one. */
  private EngineScript keeper() {
    return (request, connection) -> {
      String id = "resp_" + created.incrementAndGet();
      int chosen = new String(request.body(), UTF_8).indexOf("chosen");
      connection.reply(
          200, "application/json", "{\"id\":\"" + (chosen < 0 ? id : "resp_1") + "\"}");
    };
  }

  @AfterEach
  void close() throws Exception {
    rig.close();
  }

  private WireResponse ask(String key, String method, String path) throws Exception {
    String length = method.equals("POST") ? "content-length: 0\r\n" : "";
    return rig.ask(
        "%s %s HTTP/1.1\r\nhost: r\r\nauthorization: Bearer %s\r\n%s\r\n"
            .formatted(method, path, key, length));
  }

  private WireResponse create(String key, String more) throws Exception {
    String model = key.equals("two") ? "m2" : "m";
    return rig.ask(
        ProxyRig.post(
            "/v1/responses",
            "authorization: Bearer " + key + "\r\n",
            "{\"model\":\"" + model + "\",\"input\":\"x\"" + more + "}"));
  }

  /** The router reads the id in the answer, and a client library asks for codings by itself. */
  @Test
  void theAnswerWithAnIdIsNotEncoded() throws Exception {
    start(false);
    for (String path : List.of("/v1/responses", "/v1/chat/completions")) {
      String lines = "authorization: Bearer alice\r\nAccept-Encoding: gzip\r\n";
      rig.ask(ProxyRig.post(path, lines, "{\"model\":\"m\",\"input\":\"x\"}"));
      assertThat(engine.awaitRequest().header("accept-encoding"))
          .isEqualTo(path.endsWith("responses") ? null : "gzip");
    }
    assertThat(ask("alice", "GET", "/v1/responses/resp_1").status()).isEqualTo(200);
  }

  private void assertUnknown(WireResponse answer) {
    assertThat(answer.status()).isEqualTo(404);
    assertThat(answer.text()).contains("\"code\":\"response_not_found\"");
  }

  /** Such a request names no model; the rights applied when the response was created. */
  @ParameterizedTest
  @CsvSource({"DELETE, ''", "POST, /cancel"})
  void aClientWithRightsForSomeModelsEndsItsOwnResponses(String method, String rest)
      throws Exception {
    start(true);
    assertThat(create("two", "").text()).contains("resp_1");
    assertThat(create("alice", "").text()).contains("resp_2");
    assertThat(ask("two", method, "/v1/responses/resp_2" + rest).status()).isEqualTo(403);
    assertThat(ask("two", method, "/v1/responses/resp_9" + rest).status()).isEqualTo(403);
    assertThat(ask("two", method, "/v1/responses/resp_1" + rest).status()).isEqualTo(200);
  }

  @ParameterizedTest
  @CsvSource({
    "GET, ''",
    "DELETE, ''",
    "POST, /cancel",
    "GET, /input_items",
    "GET, /input",
    "GET, ?stream=true",
  })
  void nobodyElseUsesAResponse(String method, String rest) throws Exception {
    start(true);
    assertThat(create("alice", "").text()).contains("resp_1");
    for (String other : new String[] {"bob", "two", "confirmed"}) {
      for (String path : List.of("/v1/responses/resp_1", "/v1/../v1//responses/res%70_1")) {
        WireResponse answer = ask(other, method, path + rest);
        if (other.equals("two") && !method.equals("GET")) {
          assertThat(answer.status()).as("without a model").isEqualTo(403);
        } else {
          assertUnknown(answer);
        }
      }
    }
    assertThat(engine.requests()).hasSize(1);
    assertThat(ask("alice", method, "/v1/responses/resp_1" + rest).status()).isEqualTo(200);
  }

  @Test
  void nobodyElseContinuesAResponse() throws Exception {
    start(true);
    create("alice", "");
    String previous = ",\"previous_response_id\":\"resp_1\"";
    for (String other : new String[] {"bob", "two", "confirmed"}) {
      assertUnknown(create(other, previous));
      assertUnknown(create(other, ",\"previous_response_id\":\"mine\"" + previous));
    }
    assertThat(engine.requests()).hasSize(1);
    assertThat(create("alice", previous).status()).isEqualTo(200);
  }

  /** Servers may confirm keys without a name. The key itself then distinguishes clients. */
  @Test
  void confirmedKeysWithoutANameAreDifferentClients() throws Exception {
    start(true);
    create("first", "");
    assertUnknown(ask("second", "GET", "/v1/responses/resp_1"));
    assertThat(ask("first", "GET", "/v1/responses/resp_1").status()).isEqualTo(200);
  }

  @Test
  void aSecondAnswerWithTheIdTakesNothingOver() throws Exception {
    start(true);
    create("alice", "");
    assertThat(create("bob", ",\"metadata\":\"chosen\"").text()).contains("resp_1");
    assertUnknown(ask("bob", "GET", "/v1/responses/resp_1"));
    assertThat(ask("alice", "GET", "/v1/responses/resp_1").status()).isEqualTo(200);
  }

  /** For example after a restart of the router. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void anUnknownResponseIsSearchedOnlyIfConfigured(boolean search) throws Exception {
    start(search);
    int status = search ? 200 : 404;
    assertThat(ask("alice", "GET", "/v1/responses/resp_9").status()).isEqualTo(status);
    assertThat(engine.requests()).hasSize(search ? 1 : 0);
    assertUnknown(ask("bob", "GET", "/v1/responses/resp_" + (search ? 9 : 8)));
  }

  @Test
  void theIdBehindALongPromptIsFound() throws Exception {
    start(true);
    create("alice", "");
    String previous = ",\"previous_response_id\":\"resp_1\"";
    assertUnknown(create("bob", ",\"user\":\"" + "x".repeat(5000) + "\"" + previous));
    assertThat(create("bob", ",\"user\":\"" + "x".repeat(20_000) + "\"" + previous).status())
        .isEqualTo(413);
    assertThat(engine.requests()).hasSize(1);
  }

  /** Engines read a body as JSON with any headers. */
  @ParameterizedTest
  @ValueSource(strings = {"content-encoding: unknown", "content-type: multipart/form-data"})
  void aBodyThatTheRouterDoesNotReadIsRefused(String header) throws Exception {
    start(true);
    create("alice", "");
    String body = "{\"model\":\"m\",\"input\":\"x\",\"previous_response_id\":\"resp_1\"}";
    String request =
        "POST /v1/responses HTTP/1.1\r\nhost: r\r\nauthorization: Bearer bob\r\n"
            + header
            + "\r\ncontent-length: "
            + body.length()
            + "\r\n\r\n"
            + body;
    assertThat(rig.ask(request).status()).isBetween(400, 415);
    assertThat(engine.requests()).hasSize(1);
  }

  /** The key of such a request is that of batches. */
  @Test
  void aRequestThatTheRouterSendsForAClientCreatesThatClientsResponse() throws Exception {
    start(true);
    String headers = "authorization: Bearer batches\r\nx-owner: key/alice\r\n";
    String body = "{\"model\":\"m\",\"input\":\"x\"}";
    assertThat(rig.ask(ProxyRig.post("/v1/responses", headers, body)).text()).contains("resp_1");
    assertUnknown(ask("batches", "GET", "/v1/responses/resp_1"));
    assertThat(ask("alice", "GET", "/v1/responses/resp_1").status()).isEqualTo(200);
  }

  /** Clients with names need the protection from these clients too. */
  @Test
  void clientsWithoutANameUseTheirOwnResponsesOnlyIfOthersHaveNames() throws Exception {
    start(false);
    rig.callers = new Keys(false);
    create("alice", "");
    String previous = ",\"previous_response_id\":\"resp_1\"";
    assertUnknown(create("other", previous));
    assertUnknown(ask("other", "GET", "/v1/responses/resp_9"));
    assertUnknown(create("other", ",\"user\":\"" + "x".repeat(5000) + "\"" + previous));
    assertThat(create("other", ",\"user\":\"" + "x".repeat(20_000) + "\"" + previous).status())
        .isEqualTo(413);
    assertThat(engine.requests()).hasSize(1);
    create("other", "");
    assertThat(ask("another", "GET", "/v1/responses/resp_2").status()).isEqualTo(200);
  }

  /** The router cannot distinguish these clients. */
  @Test
  void withoutKeysEachClientUsesEachResponse() throws Exception {
    start(false);
    rig.callers = CallerCheck.NONE;
    create("alice", "");
    assertThat(ask("bob", "GET", "/v1/responses/resp_1").status()).isEqualTo(200);
    assertThat(ask("bob", "GET", "/v1/responses/resp_8").status()).isEqualTo(200);
  }
}

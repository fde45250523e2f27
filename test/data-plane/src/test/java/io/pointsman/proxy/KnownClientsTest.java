package io.pointsman.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.proxy.body.RequestEdits;
import io.pointsman.proxy.identity.ClientIdentity;
import io.pointsman.proxy.identity.KeyHolder;
import io.pointsman.proxy.identity.KeyRing;
import io.pointsman.proxy.identity.KeyRole;
import io.pointsman.proxy.local.AdminGuard;
import io.pointsman.proxy.local.AdminPaths;
import io.pointsman.proxy.local.CallerCheck;
import io.pointsman.proxy.local.ClosedPaths;
import io.pointsman.proxy.local.LocalRequest;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.local.LocalRoutes;
import io.pointsman.proxy.settings.LimitSettings;
import io.pointsman.request.splice.RawJson;
import io.pointsman.request.splice.Splice;
import io.pointsman.testkit.engine.EngineRequest;
import io.pointsman.testkit.engine.Faults.Answer;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Callers with keys of the router: the part that each role opens, their models, hidden keys. */
@SuppressWarnings("try") // tests may be interrupted
@Timeout(60)
class KnownClientsTest {
  private static final String CHAT = "/v1/chat/completions";

  /** Keys by text; every one is known to the clients' check and to the admin guard. */
  private static final class Keys implements CallerCheck, KeyRing {
    private final Map<String, KeyHolder> known =
        Map.of(
            "all", holder("alice", KeyRole.CLIENT),
            "one", holder("bob", KeyRole.CLIENT, "m", "alias"),
            "plane", holder("haproxy", KeyRole.PLANE),
            "root", holder("ops", KeyRole.ADMIN));

    private static KeyHolder holder(String name, KeyRole role, String... models) {
      return new KeyHolder(new ClientIdentity(ClientIdentity.Kind.KEY, name, Set.of(models)), role);
    }

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
      return authorization != null && authorization.startsWith("Bearer ")
          ? holderOf(authorization.substring(7))
          : null;
    }

    @Override
    public @Nullable KeyHolder holderOf(String key) {
      return known.get(key);
    }

    @Override
    public boolean guards(KeyRole role) {
      return true;
    }
  }

  private static final LocalRoutes ADMIN =
      LocalRoutes.builder()
          .on("POST", "/admin", KnownClientsTest::seen)
          .on("POST", "/decide", KnownClientsTest::seen)
          .forPlanes("POST", "/decide")
          .on("POST", "/route", KnownClientsTest::seen)
          .forPlanes("POST", "/route")
          .ofClients("/route")
          .build();

  private static LocalResponse seen(LocalRequest request) {
    return LocalResponse.text(
        200,
        "%s %s %s %s"
            .formatted(
                request.caller(),
                request.callerName(),
                request.client().name(),
                request.headers().keySet().stream()
                    .filter(List.of("authorization", "x-api-key", "x-pointsman-key")::contains)
                    .toList()));
  }

  private final Keys keys = new Keys();

  @SuppressWarnings("NullAway.Init") // started before each test
  private ProxyRig rig;

  @SuppressWarnings("NullAway.Init") // started before each test
  private ScriptedEngine engine;

  @BeforeEach
  void start() throws Exception {
    AdminGuard guard = new AdminGuard(List.of(), "", "", keys, false, false);
    rig =
        new ProxyRig(
            Transport.AUTO,
            ProxySettings.DEFAULTS.withLimits(LimitSettings.DEFAULTS.withMaxBufferedBody(2000)),
            LocalRoutes.NONE,
            new AdminPaths(ADMIN, LocalRoutes.NONE, ClosedPaths.NONE, guard));
    rig.callers = keys;
    engine = rig.closing(ScriptedEngine.start(Answer.ok()));
    rig.worker(engine.url());
  }

  @AfterEach
  void close() throws Exception {
    rig.close();
  }

  private static String chat(String key, String body) {
    return ProxyRig.post(CHAT, key.isEmpty() ? "" : key + "\r\n", body);
  }

  private static String of(String model) {
    return "{\"model\":\"" + model + "\",\"messages\":[]}";
  }

  private void assertRefused(WireResponse response, int status, String code) {
    assertThat(response.status()).isEqualTo(status);
    assertThat(response.text()).contains("\"code\":\"" + code + "\"");
    assertThat(engine.requests()).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {"authorization: Bearer all", "X-Api-Key: all"})
  void aKeyOfTheRouterDoesNotReachWorkers(String line) throws Exception {
    assertThat(rig.ask(chat(line, of("m"))).status()).isEqualTo(200);
    EngineRequest sent = engine.awaitRequest();
    assertThat(sent.header("authorization")).isNull();
    assertThat(sent.header("x-api-key")).isNull();
    assertThat(sent.header("content-type")).isEqualTo("application/json");
  }

  @Test
  void aKeyWithModelsMayUseThem() throws Exception {
    String key = "authorization: Bearer one";
    assertThat(rig.ask(chat(key, of("m"))).status()).isEqualTo(200);
    assertThat(rig.ask("GET /x HTTP/1.1\r\nhost: r\r\n" + key + "\r\n\r\n").status())
        .isEqualTo(200);
  }

  @Test
  void theNameThatTheClientUsesIsPermittedToo() throws Exception {
    rig.edits =
        (facts, body, length, whole) ->
            "alias".equals(facts.model())
                ? Splice.replaced(length, facts.modelSpan(), RawJson.of("\"m\""))
                : null;
    assertThat(rig.ask(chat("authorization: Bearer one", of("alias"))).status()).isEqualTo(200);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{\"model\":\"other\",\"messages\":[]}",
        "{\"messages\":[]}",
        "{\"model\":\"m\",\"model\":\"other\"}",
        "{\"model\":\"m\",\"mod\\u0065l\":\"other\"}",
        "{\"model\":[\"m\"]}",
        "{\"MODEL\":\"m\"}",
      })
  void aKeyWithModelsMayUseNoOther(String body) throws Exception {
    assertRefused(rig.ask(chat("authorization: Bearer one", body)), 403, "model_not_permitted");
  }

  /** Engines serve the adapter, or a decoder ignores the case of names. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "\"Model\":\"other\"",
        "\"MOD\\u0045L\":\"other\"",
        "\"lora_path\":\"other\"",
        "\"lora_path\":[\"m\"]",
        "\"lora_name\":\"other\"",
        "\"lora_id\":1",
        "\"lora_request\":{\"lora_name\":\"other\"}",
        "\"lora\":[{\"id\":0,\"scale\":1}]",
        "\"adapter\":\"other\"",
        "\"adapter_id\":\"other\"",
        "\"adapter_name\":\"other\"",
        "\"sampling_params\":{\"n\":1,\"lora_path\":\"other\"}",
        "\"sampling_params\":[{},{\"lor\\u0061_path\":\"other\"}]",
        "\"parameters\":{\"adapter_id\":\"other\"}",
      })
  void aFieldBesideTheModelCannotNameAnotherOne(String field) throws Exception {
    for (String path : List.of(CHAT, "/generate", "/v1/other")) {
      String body = "{\"model\":\"m\",\"messages\":[],\"text\":\"x\"," + field + "}";
      WireResponse refused = rig.ask(ProxyRig.post(path, "authorization: Bearer one\r\n", body));
      assertRefused(refused, 403, "model_not_permitted");
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "\"Model\":\"m\"",
        "\"lora_path\":\"alias\"",
        "\"lora_path\":null",
        "\"sampling_params\":{\"temperature\":0,\"lora_path\":\"m\"}",
        "\"sampling_params\":{\"stop\":[{\"lora_path\":\"other\"}]}",
        "\"metadata\":{\"Model\":\"other\"}",
      })
  void aFieldBesideTheModelMayNameAPermittedOne(String field) throws Exception {
    String body = "{\"model\":\"m\",\"messages\":[]," + field + "}";
    assertThat(rig.ask(chat("authorization: Bearer one", body)).status()).isEqualTo(200);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "model=m&mod%65l=other",
        "model=other&mod%65l=m",
        "model=m&Model=other",
        "x;model=other&model=m",
        "model=m;model=other",
      })
  void aQueryThatServersReadDifferentlyIsRefused(String query) throws Exception {
    assertRefused(rig.ask(realtime(query)), 403, "model_not_permitted");
  }

  @Test
  void aQueryMayNameAPermittedModelTwice() throws Exception {
    assertThat(rig.ask(realtime("model=alias&mod%65l=m&x=1;2")).status()).isEqualTo(200);
  }

  private static String realtime(String query) {
    return String.join(
        "\r\n",
        "GET /v1/realtime?" + query + " HTTP/1.1",
        "host: r",
        "authorization: Bearer one",
        "connection: upgrade",
        "upgrade: websocket",
        "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
        "sec-websocket-version: 13",
        "",
        "");
  }

  /** Engines read these bodies, or follow the header. The router reads no model in them, or m. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "m;{\"messages\":[]}",
        "m;{\"model\":[\"other\"]}",
        "m;model=other",
        "other;{\"model\":\"m\",\"messages\":[]}",
        "m:other;{\"model\":\"m\",\"messages\":[]}",
        "m\r\nServe_Multiplexed_Model_Id: other;{\"model\":\"m\"}",
      })
  void aHeaderCannotNameAModelForAKeyWithModels(String headerAndBody) throws Exception {
    String[] parts = headerAndBody.split(";", 2);
    String lines = "authorization: Bearer one\r\nserve_multiplexed_model_id: " + parts[0] + "\r\n";
    String other = "/v1/other";
    assertRefused(rig.ask(ProxyRig.post(other, lines, parts[1])), 403, "model_not_permitted");
  }

  @Test
  void aHeaderMayNameTheModelOfTheBody() throws Exception {
    String lines = "authorization: Bearer one\r\nserve_multiplexed_model_id: m\r\n";
    WireResponse served = rig.ask(ProxyRig.post("/v1/other", lines, "{\"model\":\"m\"}"));
    assertThat(served.status()).isEqualTo(200);
  }

  @Test
  void aBodyThatIsOnlyPartlyJsonIsRefused() throws Exception {
    String body = "{\"model\":\"m\"} {\"model\":\"other\"}";
    String key = "authorization: Bearer one\r\n";
    assertRefused(rig.ask(ProxyRig.post("/v1/other", key, body)), 403, "model_not_permitted");
  }

  @Test
  void aFormThatServersReadDifferentlyIsRefused() throws Exception {
    String disposition = "content-disposition: form-data; name=";
    String body =
        String.join(
            "\r\n",
            "--b",
            disposition + "\"model\"",
            "",
            "m",
            "--b",
            disposition + "\"x\"; name=\"model\"",
            "",
            "other",
            "--b--",
            "");
    assertRefused(rig.ask(form(body)), 403, "model_not_permitted");
    String fair = body.replace("\"x\"; name=\"model\"", "\"x\"");
    assertThat(rig.ask(form(fair)).status()).isEqualTo(200);
  }

  private static String form(String body) {
    String head =
        String.join(
            "\r\n",
            "POST /v1/audio/transcriptions HTTP/1.1",
            "host: r",
            "authorization: Bearer one",
            "content-type: multipart/form-data; boundary=b",
            "content-length: " + body.length());
    return head + "\r\n\r\n" + body;
  }

  @Test
  void aModelAfterALongPromptIsFound() throws Exception {
    String key = "authorization: Bearer one";
    String longer = "{\"model\":\"m\",\"prompt\":\"" + "x".repeat(4000) + "\"";
    assertThat(rig.ask(chat(key, longer + "}")).status()).isEqualTo(200);
    engine.awaitRequest();
    WireResponse twice = rig.ask(chat(key, longer + ",\"model\":\"other\"}"));
    assertThat(twice.status()).isEqualTo(403);
  }

  @Test
  void aBodyThatIsTooLongToCheckIsRefused() throws Exception {
    String longest = "{\"model\":\"m\",\"prompt\":\"" + "x".repeat(40_000) + "\"}";
    WireResponse refused = rig.ask(chat("authorization: Bearer one", longest));
    assertRefused(refused, 403, "model_not_permitted");
    assertThat(refused.text()).contains("the body is too long");
  }

  @Test
  void anUnknownPathNeedsAllModelsUnlessItReads() throws Exception {
    String key = "authorization: Bearer one\r\n";
    assertRefused(rig.ask(ProxyRig.post("/x", key, "text")), 403, "model_not_permitted");
    String socket =
        String.join(
            "\r\n",
            "GET /x HTTP/1.1",
            "host: r",
            "connection: upgrade",
            "upgrade: websocket",
            "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
            "sec-websocket-version: 13",
            "");
    assertRefused(rig.ask(socket + key + "\r\n"), 403, "model_not_permitted");
  }

  @Test
  void aRefusalHasTheFormOfTheApi() throws Exception {
    WireResponse refused =
        rig.ask(ProxyRig.post("/v1/messages", "x-api-key: one\r\n", of("other")));
    assertThat(refused.status()).isEqualTo(403);
    assertThat(refused.text()).contains("\"type\":\"permission_error\"");
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "authorization: Bearer x", "authorization: all", "x-api-key: x"})
  void anUnknownKeyIs401(String line) throws Exception {
    WireResponse unknown = rig.ask(chat(line, of("m")));
    assertRefused(unknown, 401, "invalid_api_key");
    assertThat(unknown.header("www-authenticate")).isEqualTo("Bearer");
  }

  @ParameterizedTest
  @ValueSource(strings = {"plane", "root"})
  void aKeyOfAnotherRoleIsNoClients(String key) throws Exception {
    WireResponse other = rig.ask(chat("authorization: Bearer " + key, of("m")));
    assertRefused(other, 403, "key_not_permitted");
    assertThat(other.header("www-authenticate")).isNull();
  }

  private WireResponse admin(String path, String... lines) throws Exception {
    String more = lines.length == 0 ? "" : String.join("\r\n", lines) + "\r\n";
    try (WireClient client = new WireClient(rig.adminPort())) {
      return client
          .send("POST " + path + " HTTP/1.1\r\nhost: 127.0.0.1\r\n" + more + "\r\n")
          .read();
    }
  }

  @Test
  void eachRoleOpensItsPartOfTheAdminListener() throws Exception {
    String root = "authorization: Bearer root";
    String plane = "authorization: Bearer plane";
    assertThat(admin("/admin", root).text()).isEqualTo("ADMIN ops ops []");
    assertThat(admin("/decide", root).status()).isEqualTo(200);
    assertThat(admin("/decide", plane).text()).isEqualTo("PLANE haproxy haproxy []");
    assertRefused(admin("/admin", plane), 403, "key_not_permitted");
    assertRefused(admin("/decide", "authorization: Bearer all"), 403, "key_not_permitted");
    assertRefused(admin("/admin"), 401, "invalid_api_key");
    assertRefused(admin("/admin", "authorization: Bearer x"), 401, "invalid_api_key");
  }

  @Test
  void aPlanesQuestionHasTheNamesOfBoth() throws Exception {
    String plane = "x-pointsman-key: plane";
    assertThat(admin("/route", plane, "authorization: Bearer all").text())
        .isEqualTo("PLANE haproxy alice []");
    assertRefused(admin("/route", plane), 401, "invalid_api_key");
    assertRefused(admin("/route", plane, "authorization: Bearer root"), 403, "key_not_permitted");
  }

  @Test
  void reportsNameTheHolderOfTheKey() throws Exception {
    for (String key : List.of("all", "root", "x")) {
      int reported = rig.identities.size();
      rig.ask(chat("authorization: Bearer " + key, of("m")));
      ProxyRig.await("reported", () -> rig.identities.size() > reported);
    }
    admin("/admin", "authorization: Bearer root");
    ProxyRig.await("reported", () -> rig.identities.size() == 4);
    assertThat(rig.identities)
        .containsExactly("KEY alice", "KEY ops", "ADDRESS 127.0.0.1", "KEY ops");
  }

  @Test
  void withoutAFileEveryKeyGoesOn() throws Exception {
    rig.callers = CallerCheck.NONE;
    rig.edits = RequestEdits.NONE;
    assertThat(rig.ask(chat("authorization: Bearer all", of("m"))).status()).isEqualTo(200);
    assertThat(engine.awaitRequest().header("authorization")).isEqualTo("Bearer all");
  }
}

package io.pointsman.server.wiring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.api.keys.KeyFile;
import io.pointsman.api.keys.StoredKey;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.YamlConfig;
import io.pointsman.proxy.identity.KeyRing;
import io.pointsman.proxy.identity.KeyRole;
import io.pointsman.proxy.local.CallerCheck;
import io.pointsman.testkit.Await;
import io.pointsman.testkit.engine.EngineRequest;
import io.pointsman.testkit.engine.Faults;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A router with a file of keys, over sockets. */
@Timeout(120)
class RouterKeysTest {
  private static final String CHAT = "/v1/chat/completions";
  private static final String HI = "{\"model\":\"m\",\"messages\":[]}";

  @TempDir Path directory;
  private Path file = Path.of("keys.yaml");
  private final Deque<AutoCloseable> opened = new ArrayDeque<>();
  private final HttpClient http =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  @SuppressWarnings("NullAway.Init") // started before each test
  private ScriptedEngine engine;

  @BeforeEach
  void start() throws Exception {
    file = directory.resolve("keys.yaml");
    engine = ScriptedEngine.start(new Faults.Healthy("m", Faults.Answer.ok()));
    opened.push(engine);
    add("alice", KeyRole.CLIENT);
  }

  @AfterEach
  void close() throws Exception {
    http.shutdownNow();
    while (!opened.isEmpty()) {
      opened.pop().close();
    }
  }

  /** Adds a key with its name and a prefix as text. */
  private void add(String name, KeyRole role) throws Exception {
    String hash = StoredKey.hash("pmk-" + name);
    KeyFile.add(file, new StoredKey(name, role, hash, List.of(), null));
  }

  private Router router(String more) {
    String yaml =
        """
        workers: ['%s']
        listen: {port: 0}
        metrics: {port: 0}
        policy: round_robin
        health: {first-retry: 10ms, max-retry: 50ms}
        api-key: engines-key
        auth: {keys-file: '%s'}
        """
                .formatted(engine.url(), file)
            + more;
    Router router = Router.start(PointsmanConfig.from(YamlConfig.parse("test", yaml)), "test");
    opened.push(router);
    return router;
  }

  private int call(String method, String url, String name, String body) throws Exception {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(url.replace("0.0.0.0", "127.0.0.1")))
            .method(method, HttpRequest.BodyPublishers.ofString(body));
    if (!name.isEmpty()) {
      request.header("authorization", "Bearer pmk-" + name);
    }
    return http.send(request.build(), HttpResponse.BodyHandlers.ofString()).statusCode();
  }

  private int workers(Router router, String name) throws Exception {
    return call("GET", router.adminUrl() + "/workers", name, "");
  }

  private static void served(Router router) {
    Await.until("healthy", () -> router.fleet().snapshot().workers().getFirst().health().healthy());
  }

  @Test
  void clientsNeedAKeyThatEnginesDoNotGet() throws Exception {
    Router router = router("");
    served(router);
    assertThat(call("POST", router.url() + CHAT, "", HI)).isEqualTo(401);
    assertThat(call("POST", router.url() + CHAT, "bob", HI)).isEqualTo(401);
    assertThat(call("POST", router.url() + CHAT, "alice", HI)).isEqualTo(200);
    EngineRequest sent =
        engine.requests().stream()
            .filter(each -> each.line().startsWith("POST "))
            .findFirst()
            .get();
    assertThat(sent.header("authorization")).isEqualTo("Bearer engines-key");
  }

  @Test
  void aNewKeyWorksAndARemovedOneDoesNot() throws Exception {
    Router router = router("");
    served(router);
    add("bob", KeyRole.CLIENT);
    Await.until("the new key", () -> asks(router, "bob") == 200);
    Files.writeString(file, "keys: []\n");
    Await.until("no key", () -> asks(router, "bob") == 401);
    assertThat(asks(router, "alice")).isEqualTo(401);
  }

  private int asks(Router router, String name) {
    try {
      return call("POST", router.url() + CHAT, name, HI);
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void aKeyForAdministratorsClosesTheAdminListener() throws Exception {
    Router router = router("");
    assertThat(workers(router, "")).isEqualTo(200);
    add("ops", KeyRole.ADMIN);
    add("haproxy", KeyRole.PLANE);
    Await.until("closed", () -> status(router) == 401);
    assertThat(workers(router, "ops")).isEqualTo(200);
    assertThat(workers(router, "alice")).isEqualTo(403);
    String decide = router.adminUrl() + "/v1/decide";
    assertThat(call("POST", decide, "haproxy", "{")).isEqualTo(400);
    assertThat(call("POST", decide, "alice", "{")).isEqualTo(403);
    String add = router.adminUrl() + "/add_worker?url=http://127.0.0.1:1";
    assertThat(call("POST", add, "haproxy", "")).isEqualTo(403);
  }

  private int status(Router router) {
    try {
      return workers(router, "");
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void anAdminListenerForOthersRefusesAllWithoutAnAdministrator() throws Exception {
    Router router = router("admin: {host: 0.0.0.0, port: 0}\n");
    assertThat(workers(router, "")).isEqualTo(401);
    assertThat(workers(router, "alice")).isEqualTo(403);
    add("ops", KeyRole.ADMIN);
    Await.until("an administrator", () -> opens(router));
  }

  private boolean opens(Router router) {
    try {
      return workers(router, "ops") == 200;
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void aFileThatCannotBeUsedPreventsTheStart() throws Exception {
    Files.writeString(file, "keys: [{name: a}]");
    assertThatThrownBy(() -> router(""))
        .isInstanceOf(StartException.class)
        .hasMessageStartingWith("auth.keys-file: ")
        .hasMessageContaining("hash: missing");
    Files.delete(file);
    assertThatThrownBy(() -> router(""))
        .isInstanceOf(StartException.class)
        .hasMessageContaining("keys.yaml");
  }

  private static PointsmanConfig byVariable(String auth) {
    return PointsmanConfig.from(YamlConfig.parse("test", "auth: {keys-env: KEYS" + auth + "}"));
  }

  @Test
  void keysOfAVariableGuardAsThoseOfAFile() throws Exception {
    add("ops", KeyRole.ADMIN);
    String text = Files.readString(file);
    RouterKeys keys =
        RouterKeys.open(
            byVariable(""),
            name -> name.equals("KEYS") ? text : null,
            () -> CallerCheck.NOBODY,
            KeyRing.NONE);
    assertThat(keys.callers().known("Bearer pmk-alice")).isEqualTo(CallerCheck.Verdict.ADMITTED);
    assertThat(keys.callers().known("Bearer pmk-bob")).isEqualTo(CallerCheck.Verdict.REFUSED);
    assertThat(keys.ring().guards(KeyRole.ADMIN)).isTrue();
  }

  @Test
  void aNameInTheFileAndTheVariableIsAFaultOfBoth() throws Exception {
    String text = Files.readString(file);
    assertThatThrownBy(
            () ->
                RouterKeys.open(
                    byVariable(", keys-file: '" + file + "'"),
                    _ -> text,
                    () -> CallerCheck.NOBODY,
                    KeyRing.NONE))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith("auth.keys-file and auth.keys-env: alice: ");
  }

  @Test
  void aVariableThatIsNotSetKeepsTheRouterFromStarting() {
    assertThatThrownBy(
            () ->
                RouterKeys.open(byVariable(""), _ -> null, () -> CallerCheck.NOBODY, KeyRing.NONE))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith("auth.keys-env: KEYS: not set");
    assertThatThrownBy(
            () -> PointsmanConfig.from(YamlConfig.parse("test", "auth: {keys-env: 'keys: []'}")))
        .hasMessageContaining("auth: keys-env: (expected: the name of an environment variable");
  }
}

package io.pointsman.it.plane;

import static io.pointsman.it.plane.PlaneRig.authorization;
import static io.pointsman.it.plane.PlaneRig.completion;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.api.keys.KeyFile;
import io.pointsman.api.keys.StoredKey;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.RawEngine;
import io.pointsman.it.support.RawEngine.Received;
import io.pointsman.proxy.identity.KeyRole;
import io.pointsman.server.wiring.Router;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A router that admits only clients with keys that another server confirms, and the proxy with its
 * own key.
 */
@ParameterizedClass
@EnumSource(PlaneRig.Way.class)
@Timeout(300)
@Tag("full")
final class PlaneKeysTest {
  private static final Set<String> KNOWN = Set.of("Bearer client-key");

  private final PlaneRig rig;

  PlaneKeysTest(PlaneRig.Way way) {
    rig = new PlaneRig(way).engines(2);
  }

  @AfterEach
  void close() {
    rig.close();
  }

  /**
   * @param settings further settings, paths and values in turn
   */
  private Router guarded(String... settings) throws IOException {
    RawEngine keys =
        rig.opened(RawEngine.start("keys", (request, out) -> out.write(verdict(request))));
    List<String> all =
        new ArrayList<>(
            List.of("auth.validation-urls", keys.url() + "/check", "decide.api-key", "proxy-key"));
    all.addAll(List.of(settings));
    return rig.router("round_robin", all.toArray(String[]::new));
  }

  private static byte[] verdict(Received request) {
    return KNOWN.contains(Objects.requireNonNullElse(request.header("authorization"), ""))
        ? RawEngine.answer("text/plain", new byte[0])
        : "HTTP/1.1 401 No\r\ncontent-length: 0\r\n\r\n".getBytes(StandardCharsets.ISO_8859_1);
  }

  @Test
  void clientsAndTheProxyNeedTheirOwnKeys() throws Exception {
    guarded();
    rig.keys("client-key", "proxy-key");
    rig.carrier();
    for (int i = 0; i < 10; i++) {
      HttpAnswer answer = rig.send(completion("number " + i), authorization("client-key"));
      assertThat(answer.status()).isEqualTo(200);
      assertThat(answer.header("x-pointsman-worker")).isNotNull();
    }
    // Settling the leases requires the proxy's own key.
    rig.awaitNoLoad();

    for (HttpAnswer answer :
        new HttpAnswer[] {
          rig.send(completion("x")),
          rig.send(completion("x"), authorization("invented")),
          PlaneRig.get(rig.port(), "/v1/models"),
          PlaneRig.get(rig.port(), "/version", authorization("invented"))
        }) {
      assertThat(answer.status()).isEqualTo(401);
      assertThat(answer.text()).contains("invalid_api_key");
    }
    assertThat(PlaneRig.get(rig.port(), "/v1/models", authorization("client-key")).status())
        .isEqualTo(200);
    rig.awaitNoLoad();
  }

  /** With the proxy's own key and without one, and for each reason of a refusal. */
  @ParameterizedTest
  @ValueSource(strings = {"", "proxy-key"})
  void refusalsOfTheRouterReachNoEngine(String carriersKey, @TempDir Path directory)
      throws Exception {
    Path keys = directory.resolve("keys.yaml");
    KeyFile.add(keys, key("client-key", KeyRole.CLIENT, List.of(PlaneRig.MODEL)));
    KeyFile.add(keys, key("other-key", KeyRole.CLIENT, List.of("other")));
    if (!carriersKey.isEmpty()) {
      KeyFile.add(keys, key(carriersKey, KeyRole.PLANE, List.of()));
    }
    rig.router("round_robin", "auth.keys-file", keys.toString());
    rig.keys("client-key", carriersKey);
    rig.carrier();
    long before = served();

    HttpAnswer model = rig.send(completion("x"), authorization("other-key"));
    assertThat(model.status()).as(model.text()).isEqualTo(403);
    assertThat(model.text()).contains("model_not_permitted");
    if (!carriersKey.isEmpty()) {
      HttpAnswer role = rig.send(completion("x"), authorization(carriersKey));
      assertThat(role.status()).as(role.text()).isEqualTo(403);
      assertThat(role.text()).contains("key_not_permitted");
    }
    HttpAnswer none = rig.send(completion("x"));
    assertThat(none.status()).as(none.text()).isEqualTo(401);
    assertThat(rig.sendMessage(completion("x"), authorization("other-key")).text())
        .startsWith("{\"type\":\"error\",\"error\":{\"type\":\"permission_error\",\"message\":");
    HttpAnswer ofAnthropic = rig.sendMessage(completion("x"));
    assertThat(ofAnthropic.text())
        .startsWith("{\"type\":\"error\",\"error\":{\"type\":\"authentication_error\",");
    assertThat(rig.sendMessageEncoded(completion("x")).text()).isEqualTo(ofAnthropic.text());

    assertThat(served()).isEqualTo(before);
    rig.awaitNoLoad();
  }

  private static StoredKey key(String key, KeyRole role, List<String> models) {
    return new StoredKey(key, role, StoredKey.hash(key), models, null);
  }

  private long served() {
    return rig.engines().stream().mapToLong(engine -> engine.state().requests().served()).sum();
  }

  /** The asterisk is no path; nginx rejects such requests. */
  @Test
  void requestsWithoutAPathAreCheckedToo() throws Exception {
    guarded();
    rig.keys("client-key", "proxy-key");
    rig.carrier();

    assertThat(options("*").status()).isIn(400, 401);
    assertThat(options("*", authorization("invented")).status()).isIn(400, 401);
    assertThat(options("/v1/models").status()).isEqualTo(401);
    assertThat(options("*", authorization("client-key")).status()).isNotIn(401, 503);
    rig.awaitNoLoad();
  }

  private HttpAnswer options(String target, String... headers) throws IOException {
    try (RawClient client = RawClient.connect(rig.port())) {
      return client.send("OPTIONS", target, new byte[0], List.of(headers)).read();
    }
  }

  /** Otherwise taking the router down would admit an attacker. */
  @Test
  void withoutTheRouterNoClientIsAdmitted() throws Exception {
    Router router = guarded();
    rig.keys("client-key", "proxy-key");
    rig.carrier();
    router.close();
    for (int i = 0; i < 5; i++) {
      HttpAnswer answer = rig.send(completion("alone"), authorization("client-key"));
      assertThat(answer.status()).isEqualTo(503);
      assertThat(answer.text()).contains("router_unavailable");
      assertThat(answer.header("retry-after")).isEqualTo("1");
      assertThat(PlaneRig.get(rig.port(), "/v1/models").status()).isEqualTo(503);
      assertThat(rig.sendMessage(completion("alone"), authorization("client-key")).text())
          .isEqualTo(
              "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\","
                  + "\"message\":\"the router does not answer\"}}");
    }

    guarded();
    rig.awaitPinned();
  }

  /** Otherwise no other program would check the clients' keys. */
  @Test
  void aDisabledDecisionServiceAdmitsNoClient() throws Exception {
    guarded("decide.enabled", "false", "decide.spoe-address", "");
    rig.keys("client-key", "proxy-key");
    rig.carrierAlone();
    for (int i = 0; i < 5; i++) {
      HttpAnswer answer = rig.send(completion("alone"), authorization("client-key"));
      assertThat(answer.status()).isEqualTo(503);
      assertThat(answer.text()).contains("router_unavailable");
    }
  }
}

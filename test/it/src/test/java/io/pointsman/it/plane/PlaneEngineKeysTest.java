package io.pointsman.it.plane;

import static io.pointsman.it.plane.PlaneRig.authorization;
import static io.pointsman.it.plane.PlaneRig.completion;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.RawEngine;
import io.pointsman.server.wiring.Router;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/** Engines that require a key that clients do not have: the proxy adds it. */
@ParameterizedClass
@EnumSource(PlaneRig.Way.class)
@Timeout(300)
@Tag("full")
final class PlaneEngineKeysTest {
  /** Contains characters that configurations and format strings could misread. */
  private static final String KEY = "sk-$HOME%[env(PATH)]\"'{}#\\";

  private static final RawEngine.Script ANSWER =
      (_, out) -> out.write(RawEngine.answer("text/plain", new byte[] {'!'}));

  private final PlaneRig rig;
  private final Queue<String> confirmed = new ConcurrentLinkedQueue<>();

  PlaneEngineKeysTest(PlaneRig.Way way) {
    rig = new PlaneRig(way);
    rig.engineKey(KEY);
  }

  @AfterEach
  void close() {
    rig.close();
  }

  private static void assertServed(HttpAnswer answer) {
    assertThat(answer.status()).isEqualTo(200);
    assertThat(answer.text()).isEqualTo("!");
    assertThat(answer.head().headers().toString()).doesNotContain(KEY);
  }

  @Test
  void theyGetTheKeyWithRequestsWithoutAuthorization() throws Exception {
    List<RawEngine> engines = List.of(rig.demanding(KEY, ANSWER), rig.demanding(KEY, ANSWER));
    Router router = rig.router("round_robin", "api-key", KEY);
    rig.carrier();
    for (int i = 0; i < 6; i++) {
      HttpAnswer answer = rig.send(completion("number " + i));
      assertServed(answer);
      assertThat(answer.header("x-pointsman-worker")).isNotNull();
    }
    assertServed(PlaneRig.get(rig.port(), "/v1/anything"));
    assertServed(PlaneRig.send(rig.routerPort(), completion("proxy")));
    // The engine judges a client's own key, as with the built-in proxy.
    for (int port : new int[] {rig.port(), rig.routerPort()}) {
      assertThat(PlaneRig.send(port, completion("x"), authorization("own")).status())
          .isEqualTo(401);
    }
    assertThat(engines)
        .allSatisfy(engine -> assertThat(engine.received()).isNotEmpty())
        .allSatisfy(
            engine ->
                assertThat(engine.received())
                    .allMatch(each -> ("Bearer " + KEY).equals(each.header("authorization"))));
    rig.awaitNoLoad();

    router.close();
    for (int i = 0; i < 4; i++) {
      assertServed(rig.send(completion("alone " + i)));
    }
  }

  @Test
  void noOtherRecipientGetsTheKey() throws Exception {
    rig.demanding(KEY, ANSWER);
    RawEngine keys = rig.opened(RawEngine.start("keys", this::confirm));
    rig.keys("client-key", "proxy-key");
    rig.router(
        "round_robin",
        "api-key",
        KEY,
        "auth.validation-urls",
        keys.url() + "/check",
        "decide.api-key",
        "proxy-key");
    rig.carrierAlone();

    // If the query contained the key, the router would validate it and admit the client.
    assertThat(rig.send(completion("x")).status()).isEqualTo(401);
    assertThat(PlaneRig.get(rig.port(), "/v1/models").status()).isEqualTo(401);
    for (String path : List.of("/internal/route", "/v1/decide")) {
      String body = path.equals("/v1/decide") ? "{\"reserve\":false,\"body\":{}}" : "{}";
      try (RawClient client = RawClient.connect(rig.adminPort())) {
        HttpAnswer decided =
            client
                .send(
                    "POST",
                    path,
                    body.getBytes(StandardCharsets.UTF_8),
                    List.of("x-pointsman-key: proxy-key", "Authorization: Bearer client-key"))
                .read();
        assertThat(decided.status()).as(decided.text()).isEqualTo(200);
        assertThat(decided.text() + decided.head().headers()).doesNotContain(KEY);
      }
    }
    assertThat(confirmed).contains("Bearer client-key").doesNotContain("Bearer " + KEY);
  }

  private void confirm(RawEngine.Received request, OutputStream out) throws IOException {
    String authorization = String.valueOf(request.header("authorization"));
    confirmed.add(authorization);
    out.write(
        authorization.equals("Bearer client-key")
            ? RawEngine.answer("text/plain", new byte[0])
            : "HTTP/1.1 401 No\r\ncontent-length: 0\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
  }
}

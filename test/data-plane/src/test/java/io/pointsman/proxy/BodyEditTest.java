package io.pointsman.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.proxy.body.RequestEdits;
import io.pointsman.proxy.settings.LimitSettings;
import io.pointsman.request.RequestFacts;
import io.pointsman.request.splice.RawJson;
import io.pointsman.request.splice.Splice;
import io.pointsman.testkit.engine.Faults.Answer;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.nio.charset.StandardCharsets;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The router's own changes to bodies, here of the name of a model. */
@Timeout(60)
@SuppressWarnings("try") // tests may be interrupted
class BodyEditTest {
  private static final String CHAT = "/v1/chat/completions";
  private static final RequestEdits ALIAS = new Alias();

  private static final class Alias implements RequestEdits {
    @Override
    public boolean needsModel() {
      return true;
    }

    @Override
    public @Nullable String editTarget(RequestFacts facts, String target) {
      return "alias".equals(facts.model())
          ? RequestFacts.withModel(target, "a \"longer\" name")
          : null;
    }

    @Override
    public @Nullable Splice edit(RequestFacts facts, byte[] body, int length, boolean whole) {
      return "alias".equals(facts.model())
          ? Splice.replaced(length, facts.modelSpan(), RawJson.string("a \"longer\" name"))
          : null;
    }
  }

  private ProxyRig rig;
  private ScriptedEngine one;

  @BeforeEach
  void start() throws Exception {
    rig =
        new ProxyRig(
            Transport.AUTO,
            ProxySettings.DEFAULTS.withLimits(LimitSettings.DEFAULTS.withMaxBufferedBody(1000)));
    rig.edits = ALIAS;
    one = rig.closing(ScriptedEngine.start(Answer.ok()));
    ScriptedEngine other = rig.closing(ScriptedEngine.start(Answer.ok()));
    rig.worker(WorkerSpec.of(one.url()).withModels(Set.of("a \"longer\" name")));
    rig.worker(WorkerSpec.of(other.url()).withModels(Set.of("other")));
  }

  @AfterEach
  void close() throws Exception {
    rig.close();
  }

  private static String body(String model, int size) {
    return "{\"a\": 1.50,\"model\" : \"" + model + "\", \"x\":\"" + "x".repeat(size) + "\"}\n";
  }

  @Test
  void onlyTheNameOfTheModelChanges() throws Exception {
    for (int size : new int[] {0, 300}) {
      WireResponse response = rig.ask(ProxyRig.post(CHAT, body("alias", size)));
      assertThat(response.status()).isEqualTo(200);
      assertThat(one.awaitRequest().bodyText()).isEqualTo(body("a \\\"longer\\\" name", size));
    }
  }

  /** The engine reads the model there, and the router chooses the worker by it. */
  @Test
  void theQueryOfAWebSocketHasTheNewName() throws Exception {
    String get = "GET %s HTTP/1.1\r\nhost: r\r\n\r\n";
    String target = "/v1/realtime?intent=x&model=alias";
    assertThat(rig.ask(get.formatted(target)).status()).isEqualTo(200);
    assertThat(one.awaitRequest().line())
        .isEqualTo("GET /v1/realtime?intent=x&model=a%20%22longer%22%20name HTTP/1.1");
    String elsewhere = "/v1/other?model=alias";
    assertThat(rig.ask(get.formatted(elsewhere)).status()).isEqualTo(200);
    assertThat(rig.ask(get.formatted("/v1/realtime?model=b")).status()).isEqualTo(404);
  }

  @Test
  void aStreamedBodyHasItsNewLength() throws Exception {
    assertThat(rig.ask(ProxyRig.post(CHAT, body("alias", 20_000))).status()).isEqualTo(200);
    assertThat(one.awaitRequest().bodyText()).isEqualTo(body("a \\\"longer\\\" name", 20_000));
  }

  /** Clients write the model after the messages. The fleet has one model, so none is needed. */
  @Test
  void aNameBehindTheBufferedPartChangesToo() throws Exception {
    try (ProxyRig single =
            new ProxyRig(
                Transport.AUTO,
                ProxySettings.DEFAULTS.withLimits(
                    LimitSettings.DEFAULTS.withMaxBufferedBody(1000)));
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      single.edits = ALIAS;
      single.worker(WorkerSpec.of(engine.url()).withModels(Set.of("a \"longer\" name")));
      String text = "{\"messages\":[\"" + "x".repeat(20_000) + "\"],\"model\":\"alias\"}";

      assertThat(single.ask(ProxyRig.post(CHAT, text)).status()).isEqualTo(200);

      assertThat(engine.awaitRequest().bodyText())
          .isEqualTo(text.replace("alias", "a \\\"longer\\\" name"));
    }
  }

  @Test
  void aBodyInChunksIsChangedToo() throws Exception {
    String text = body("alias", 3000);
    WireClient client = rig.connect();
    client.send("POST " + CHAT + " HTTP/1.1\r\nhost: r\r\ntransfer-encoding: chunked\r\n\r\n");
    String size = Integer.toHexString(text.getBytes(StandardCharsets.UTF_8).length);
    WireResponse response = client.send(size + "\r\n" + text + "\r\n0\r\n\r\n").read();
    assertThat(response.status()).isEqualTo(200);
    assertThat(one.awaitRequest().bodyText()).isEqualTo(body("a \\\"longer\\\" name", 3000));
  }
}

package io.pointsman.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.proxy.settings.LimitSettings;
import io.pointsman.testkit.engine.Faults.Answer;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Requests without a model, in a fleet of two workers with different models. */
@Timeout(60)
class UnnamedModelTest {
  private static final String CHAT = "/v1/chat/completions";
  private static final ProxySettings SMALL =
      ProxySettings.DEFAULTS.withLimits(LimitSettings.DEFAULTS.withMaxBufferedBody(1000));

  private ProxyRig rig;
  private ScriptedEngine one;
  private ScriptedEngine other;

  @BeforeEach
  void start() throws Exception {
    rig = new ProxyRig(Transport.AUTO, SMALL);
    one = rig.closing(ScriptedEngine.start(Answer.ok()));
    other = rig.closing(ScriptedEngine.start(Answer.ok()));
    rig.worker(WorkerSpec.of(one.url()).withModels(Set.of("one")));
    rig.worker(WorkerSpec.of(other.url()).withModels(Set.of("other")));
  }

  @AfterEach
  void close() throws Exception {
    rig.close();
  }

  private void assertRefused(WireResponse response, String message) {
    assertThat(response.status()).isEqualTo(400);
    assertThat(response.text()).contains("\"code\":\"invalid_body\"").contains(message);
    assertThat(one.requests()).isEmpty();
    assertThat(other.requests()).isEmpty();
  }

  @Test
  void anErrorForABodyWithoutAModelListsTheModels() throws Exception {
    assertRefused(
        rig.ask(ProxyRig.post(CHAT, "{\"messages\":[]}")),
        "model: missing (expected: one of one, other)");
    assertRefused(
        rig.ask(ProxyRig.post(CHAT, "{\"model\":7}")),
        "model: not a string (expected: one of one, other)");
  }

  /** Clients write the model after the messages. */
  @Test
  void aBodyAboveTheBufferIsSearchedForItsModel() throws Exception {
    String text = "{\"messages\":[\"" + "x".repeat(3000) + "\"],\"model\":\"other\"}";

    assertThat(rig.ask(ProxyRig.post(CHAT, text)).header("x-pointsman-worker"))
        .isEqualTo(other.id());
    assertThat(other.awaitRequest().bodyText()).isEqualTo(text);
    WireClient client = rig.connect();
    client.send("POST " + CHAT + " HTTP/1.1\r\nhost: r\r\ntransfer-encoding: chunked\r\n\r\n");
    for (int from = 0; from < text.length(); from += 500) {
      String part = text.substring(from, Math.min(from + 500, text.length()));
      client.send(Integer.toHexString(part.length()) + "\r\n" + part + "\r\n");
    }
    WireResponse inChunks = client.send("0\r\n\r\n").read();
    assertThat(inChunks.header("x-pointsman-worker")).isEqualTo(other.id());
    assertThat(other.awaitRequest().bodyText()).isEqualTo(text);
    assertThat(client.send(ProxyRig.post(CHAT, text)).read().status()).isEqualTo(200);
    assertThat(one.requests()).isEmpty();
  }

  @Test
  void aFormWithALeadingFileIsSearchedForItsModel() throws Exception {
    String part = "--b\r\ncontent-disposition: form-data; name=";
    String form =
        part
            + "\"file\"; filename=\"a.wav\"\r\n\r\n"
            + "y".repeat(4000)
            + "\r\n"
            + part
            + "\"model\"\r\n\r\nother\r\n--b--\r\n";
    String head =
        "POST /v1/audio/transcriptions HTTP/1.1\r\nhost: r\r\n"
            + "content-type: multipart/form-data; boundary=b\r\ncontent-length: "
            + form.length()
            + "\r\n\r\n";

    assertThat(rig.ask(head + form).header("x-pointsman-worker")).isEqualTo(other.id());
    assertThat(other.awaitRequest().bodyText()).isEqualTo(form);
  }

  /** The part after the model is streamed as usual. */
  @Test
  void aLargerBodyIsSearchedUntilItsModelIsFound() throws Exception {
    String head = "{\"messages\":[\"" + "x".repeat(5000) + "\"],\"model\":\"other\",\"user\":\"";
    String rest = "z".repeat(1_000_000) + "\"}";
    WireClient client = rig.connect();
    client.send(
        "POST "
            + CHAT
            + " HTTP/1.1\r\nhost: r\r\ncontent-length: "
            + (head.length() + rest.length())
            + "\r\n\r\n"
            + head);

    WireResponse answer = client.send(rest).read();

    assertThat(answer.header("x-pointsman-worker")).isEqualTo(other.id());
    assertThat(other.awaitRequest().bodyText()).isEqualTo(head + rest);
    assertThat(client.send(ProxyRig.post(CHAT, "{\"model\":\"one\"}")).read().status())
        .isEqualTo(200);
  }

  @Test
  void aBodyThatIsNotBufferedMustNameItsModelInItsFirstPartOrAHeader() throws Exception {
    String text = "{\"messages\":[\"" + "x".repeat(200_000) + "\"],\"model\":\"other\"}";
    WireClient client = rig.connect();

    WireResponse refused = client.send(ProxyRig.post(CHAT, text)).read();

    assertThat(refused.status()).isEqualTo(400);
    assertThat(refused.text())
        .containsPattern("model: not in the first [0-9]+ bytes of the body")
        .contains("one of one, other, there or in the header serve_multiplexed_model_id");
    assertThat(one.requests()).isEmpty();
    String named = "serve_multiplexed_model_id: other\r\n";
    assertThat(rig.ask(ProxyRig.post(CHAT, named, text)).header("x-pointsman-worker"))
        .isEqualTo(other.id());
  }

  @Test
  void requestsOnUnknownRoutesGoToAnyWorker() throws Exception {
    assertThat(rig.ask(ProxyRig.post("/reset_prefix_cache", "{}")).status()).isEqualTo(200);
    assertThat(rig.ask("GET /v1/models HTTP/1.1\r\nhost: r\r\n\r\n").status()).isEqualTo(200);
  }

  @Test
  void withOnlyOneModelRequestsNeedNotNameIt() throws Exception {
    rig.fleet().remove(other.id());
    assertThat(rig.ask(ProxyRig.post(CHAT, "{\"messages\":[]}")).status()).isEqualTo(200);
  }

  @Test
  void aRequestThatContinuesAResponseGoesToItsWorker() throws Exception {
    one.now((_, connection) -> connection.reply(200, "application/json", "{\"id\":\"resp_1\"}"));
    rig.ask(ProxyRig.post("/v1/responses", "{\"model\":\"one\"}"));

    String known = "{\"previous_response_id\":\"resp_1\"}";
    String unknown = "{\"previous_response_id\":\"resp_2\"}";

    assertThat(rig.ask(ProxyRig.post("/v1/responses", known)).header("x-pointsman-worker"))
        .isEqualTo(one.id());
    assertThat(rig.ask(ProxyRig.post("/v1/responses", unknown)).status()).isEqualTo(400);
  }

  @Test
  void aResponseOfADepartedWorkerDoesNotReplaceTheModel() throws Exception {
    one.now((_, connection) -> connection.reply(200, "application/json", "{\"id\":\"resp_1\"}"));
    rig.ask(ProxyRig.post("/v1/responses", "{\"model\":\"one\"}"));
    ScriptedEngine third = rig.closing(ScriptedEngine.start(Answer.ok()));
    rig.worker(WorkerSpec.of(third.url()).withModels(Set.of("third")));
    rig.fleet().remove(one.id());

    String known = "{\"previous_response_id\":\"resp_1\"}";
    assertThat(rig.ask(ProxyRig.post("/v1/responses", known)).status()).isEqualTo(400);
    assertThat(other.requests()).isEmpty();
    assertThat(third.requests()).isEmpty();
  }
}

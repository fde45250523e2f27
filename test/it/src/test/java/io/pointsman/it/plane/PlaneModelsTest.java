package io.pointsman.it.plane;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.RawEngine;
import io.pointsman.it.support.WaitFor;
import io.pointsman.server.wiring.Router;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/** A fleet of two models behind an external proxy: one worker for each. */
@ParameterizedClass
@EnumSource(PlaneRig.Way.class)
@Timeout(300)
@Tag("full")
final class PlaneModelsTest {
  private static final RawEngine.Script ANSWER =
      (_, out) -> out.write(RawEngine.answer("text/plain", new byte[] {'!'}));

  private final PlaneRig.Way way;
  private final PlaneRig rig;

  PlaneModelsTest(PlaneRig.Way way) {
    this.way = way;
    rig = new PlaneRig(way);
  }

  @AfterEach
  void close() {
    rig.close();
  }

  private RawEngine other() throws IOException {
    RawEngine engine = rig.opened(RawEngine.start("other", ANSWER));
    rig.worker(WorkerSpec.of(engine.url()));
    return engine;
  }

  private static String idOf(RawEngine engine) {
    return WorkerSpec.idOf(engine.url());
  }

  /**
   * A body as OpenAI's Python client writes it, with many texts that resemble the searched member.
   */
  private static String lengthy(String model) {
    return "{\"prompt\":\"\\\"model\\\":\\\"sim\\\" %s\",\"metadata\":{\"model\":\"sim\"},\"model\":%s,"
            .formatted("word ".repeat(60_000), model)
        + "\"user\":\"\\\\\",\"stop\":[\"}\",\"model\"],\"tools\":[{\"model\":\"sim\",\"a\":\"\\\"{\"}]}\n";
  }

  @Test
  void theModelOfALongBodyMayFollowItsText() throws Exception {
    rig.scripted(ANSWER);
    RawEngine other = other();
    rig.router("round_robin");
    rig.carrier();
    for (int i = 0; i < 4; i++) {
      HttpAnswer named = rig.send(lengthy("\"other\""), "serve_multiplexed_model_id: other");
      assertThat(named.status()).as(named.text()).isEqualTo(200);
      assertThat(named.header("x-pointsman-worker")).isEqualTo(idOf(other));

      // nginx has the whole body, HAProxy only its first part.
      HttpAnswer plain = rig.send(lengthy("\"other\""));
      if (way == PlaneRig.Way.NGINX) {
        assertThat(plain.status()).as(plain.text()).isEqualTo(200);
        assertThat(plain.header("x-pointsman-worker")).isEqualTo(idOf(other));
      } else {
        assertNamesNone(plain);
      }
    }
    assertNamesNone(rig.send(lengthy("7")));
    HttpAnswer unknown = rig.send(lengthy("\"un\\u006bnown\""));
    if (way == PlaneRig.Way.NGINX) {
      assertThat(unknown.status()).isEqualTo(404);
      assertThat(unknown.text()).contains("`unknown`");
    }
    rig.awaitNoLoad();
  }

  /** Chunks have no total length, and only the first part of a form is searched. */
  @Test
  void aLongBodyWithoutALengthIsRefusedWithTheSearchedRange() throws Exception {
    rig.scripted(ANSWER);
    other();
    rig.router("round_robin");
    rig.carrier();
    String form =
        "--b\r\ncontent-disposition: form-data; name=\"file\"; filename=\"f\"\r\n\r\n"
            + "x".repeat(300_000)
            + "\r\n--b\r\ncontent-disposition: form-data; name=\"model\"\r\n\r\nother\r\n--b--\r\n";

    assertNamesNone(chunked("/v1/audio/transcriptions", "multipart/form-data; boundary=b", form));
    assertNamesNone(chunked("/v1/completions", "application/json", lengthy("7")));
    HttpAnswer whole = chunked("/v1/completions", "application/json", "{\"prompt\":\"x\"}");
    assertThat(whole.text()).contains("model: missing (expected: one of other, sim)");
    rig.awaitNoLoad();
  }

  private HttpAnswer chunked(String path, String type, String body) throws IOException {
    String head =
        "POST %s HTTP/1.1\r\nhost: h\r\ncontent-type: %s\r\ntransfer-encoding: chunked\r\n\r\n"
            .formatted(path, type);
    String chunk = Integer.toHexString(body.length()) + "\r\n" + body + "\r\n0\r\n\r\n";
    try (RawClient client = RawClient.connect(rig.port())) {
      try {
        client.send((head + chunk).getBytes(StandardCharsets.US_ASCII));
      } catch (IOException e) {
        // A server that refuses a request by its head closes early; the response can still be read.
      }
      return client.read();
    }
  }

  /** A proxy that balances itself would query the other model's worker, which answers 404. */
  @Test
  void aModelWithoutALivingWorkerIsUnavailableAndNotUnknown() throws Exception {
    RawEngine sim = rig.scripted(ANSWER);
    RawEngine other = other();
    Router router = rig.router("round_robin");
    rig.carrier();
    String body = "{\"model\":\"other\",\"prompt\":\"x\"}";
    assertThat(rig.send(body).header("x-pointsman-worker")).isEqualTo(idOf(other));
    other.close();
    WaitFor.until(
        "the router knows",
        WaitFor.LONG,
        () ->
            router.fleet().snapshot().workers().stream()
                .anyMatch(worker -> !worker.health().healthy()));

    for (int i = 0; i < 3; i++) {
      HttpAnswer answer = rig.send(body);
      assertThat(answer.status()).isEqualTo(503);
      assertThat(answer.text()).contains("\"code\":\"none_available\"");
      assertThat(answer.header("retry-after")).isNotNull();
      assertThat(rig.send(PlaneRig.completion("x")).status()).isEqualTo(200);
    }
    assertThat(sim.received())
        .noneMatch(each -> new String(each.body(), StandardCharsets.UTF_8).contains("other"));
    rig.awaitNoLoad();
  }

  /** With any proxy, the worker would otherwise answer with its own model. */
  @Test
  void aRequestWithoutAModelGetsTheListOfModels() throws Exception {
    RawEngine sim = rig.scripted(ANSWER);
    RawEngine other = other();
    rig.router("round_robin");
    rig.carrier();
    int before = sim.received().size() + other.received().size();
    for (String body : List.of("{\"prompt\":\"x\"}", "{\"prompt\":\"x\",\"model\":7}")) {
      HttpAnswer carried = rig.send(body);
      HttpAnswer proxied = PlaneRig.send(rig.routerPort(), body);

      assertThat(carried.status()).isEqualTo(400);
      assertThat(proxied.status()).isEqualTo(400);
      assertThat(carried.text()).contains("(expected: one of other, sim)");
      assertThat(proxied.text()).isEqualTo(carried.text());
    }
    assertThat(sim.received().size() + other.received().size()).isEqualTo(before);
    rig.awaitNoLoad();
  }

  private static void assertNamesNone(HttpAnswer answer) {
    assertThat(answer.status()).isEqualTo(400);
    assertThat(answer.text())
        .containsPattern("model: not in the first [0-9]{6} bytes of the body")
        .contains("other, sim, there or in the header serve_multiplexed_model_id");
  }
}

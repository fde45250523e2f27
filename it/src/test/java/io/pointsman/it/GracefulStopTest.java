package io.pointsman.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.it.support.Answer;
import io.pointsman.it.support.Answer.Head;
import io.pointsman.it.support.Await;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.RouterProcess;
import io.pointsman.sim.SimConfig;
import io.pointsman.sim.SimEngine;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The program is told to stop (SIGTERM) while it serves. */
final class GracefulStopTest {
  @Test
  void streamEndsInOrderAndTheProgramEndsWithZero() throws Exception {
    try (SimEngine engine = engine();
        RouterProcess router = RouterProcess.serve(List.of(engine.url()));
        RawClient client = RawClient.connect(router.port())) {
      Head head = begin(client, 150);
      router.terminate();
      Await.until("the port is closed", Await.LONG, () -> refuses(router.port()));
      assertThat(router.isAlive()).as("still serving the stream").isTrue();
      Answer answer = client.readBody(head);

      assertThat(answer.complete()).isTrue();
      assertThat(answer.text()).endsWith("data: [DONE]\n\n");
      assertThat(router.awaitExit()).isZero();
    }
  }

  @Test
  void streamThatOutlastsTheDrainTimeoutEndsWithAnErrorEvent() throws Exception {
    try (SimEngine engine = engine();
        RouterProcess router =
            RouterProcess.serve(List.of(engine.url()), "--drain-timeout", "500ms");
        RawClient client = RawClient.connect(router.port())) {
      Head head = begin(client, 20_000);
      router.terminate();
      Answer answer = client.readBody(head);

      assertThat(answer.complete()).isTrue();
      assertThat(answer.text()).doesNotContain("[DONE]");
      assertThat(answer.text().substring(answer.text().lastIndexOf("data: ")))
          .contains("\"error\"");
      assertThat(router.awaitExit()).isZero();
      Await.until("the engine hears of it", Await.LONG, () -> engine.state().abortedInAll() == 1);
    }
  }

  private static SimEngine engine() {
    return SimEngine.start(SimConfig.instant().withModels("sim").withLinearLatency(0, 10));
  }

  private static Head begin(RawClient client, int tokens) throws IOException {
    String body =
        "{\"model\":\"sim\",\"stream\":true,\"max_tokens\":%d,\"prompt\":\"go on\"}"
            .formatted(tokens);
    return client.send("POST", "/v1/completions", body).readHead();
  }

  private static boolean refuses(int port) {
    try {
      RawClient.connect(port).close();
      return false;
    } catch (IOException e) {
      return true;
    }
  }
}

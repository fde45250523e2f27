package io.pointsman.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.telemetry.RetryReason;
import io.pointsman.testkit.engine.EngineScript;
import io.pointsman.testkit.engine.Faults.Answer;
import io.pointsman.testkit.engine.Faults.HangAfter;
import io.pointsman.testkit.engine.Faults.HangBeforeHeaders;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A worker answers nothing any more, and its connections stay open. */
@SuppressWarnings("try") // tests may be interrupted
@Timeout(60)
final class LostWorkerTest {
  private static String request(boolean stream) {
    return ProxyRig.post(
        "/v1/completions", "{\"model\":\"m\",\"stream\":" + stream + ",\"prompt\":\"p\"}");
  }

  private static void lose(Worker worker) {
    for (int i = 0; i < 3; i++) {
      worker.probes().silent();
    }
    assertThat(worker.health().losses()).isEqualTo(1);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void requestWithoutAByteIsTriedElsewhere(boolean stream) throws Exception {
    try (ProxyRig rig = new ProxyRig(Transport.AUTO);
        ScriptedEngine silent = ScriptedEngine.start(new HangBeforeHeaders());
        ScriptedEngine other = ScriptedEngine.start(Answer.ok())) {
      Worker lost = rig.worker(silent.url());
      rig.worker(other.url());
      WireClient client = rig.connect();
      client.send(request(stream));
      silent.awaitRequest();
      lose(lost);

      assertThat(client.read().status()).isEqualTo(200);
      assertThat(rig.retried).containsExactly(RetryReason.LOST);
      assertThat(lost.failures()).isEqualTo(1);
      assertThat(silent.awaitDeparture()).as("its connection is closed").isTrue();
    }
  }

  @Test
  void requestStaysIfNoOtherWorkerIsHealthy() throws Exception {
    CountDownLatch alive = new CountDownLatch(1);
    EngineScript slow =
        (request, connection) -> {
          alive.await();
          Answer.ok().answer(request, connection);
        };
    try (ProxyRig rig = new ProxyRig(Transport.AUTO);
        ScriptedEngine silent = ScriptedEngine.start(slow);
        ScriptedEngine other = ScriptedEngine.start(Answer.ok())) {
      Worker lost = rig.worker(silent.url());
      Worker down = rig.worker(other.url());
      for (int i = 0; i < 3; i++) {
        down.probed(false);
      }
      WireClient client = rig.connect();
      client.send(request(false));
      silent.awaitRequest();
      lose(lost);
      alive.countDown();

      assertThat(client.read().status()).isEqualTo(200);
      assertThat(other.requests()).isEmpty();
      assertThat(rig.retried).isEmpty();
    }
  }

  /** The client has a part of the answer, so nothing is tried again. */
  @Test
  void streamWithBytesGoesOn() throws Exception {
    String part =
        String.join(
            "\r\n",
            "HTTP/1.1 200 OK",
            "content-type: text/event-stream",
            "transfer-encoding: chunked",
            "",
            "b",
            "data: one\n\n",
            "");
    try (ProxyRig rig = new ProxyRig(Transport.AUTO);
        ScriptedEngine silent = ScriptedEngine.start(new HangAfter(part));
        ScriptedEngine hanging = ScriptedEngine.start(new HangBeforeHeaders());
        ScriptedEngine other = ScriptedEngine.start(Answer.ok())) {
      Worker first = rig.worker(silent.url());
      WireClient stream = rig.connect();
      stream.send(request(true));
      stream.head();
      assertThat(stream.chunk()).isEqualTo("data: one\n\n");
      lose(first);
      Worker second = rig.worker(hanging.url());
      rig.worker(other.url());
      WireClient client = rig.connect();
      client.send(request(false));
      hanging.awaitRequest();
      lose(second);

      assertThat(client.read().status()).isEqualTo(200);
      assertThat(silent.openConnections()).as("the stream has not ended before").isEqualTo(1);
      assertThat(rig.retried).containsExactly(RetryReason.LOST);
    }
  }
}

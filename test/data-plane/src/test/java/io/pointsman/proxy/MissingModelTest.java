package io.pointsman.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.proxy.telemetry.RetryReason;
import io.pointsman.testkit.FakeClock;
import io.pointsman.testkit.engine.Faults.Answer;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** An engine answers that it does not serve a model that it had listed. */
@Timeout(60)
@SuppressWarnings("try") // tests may be interrupted
class MissingModelTest {
  private static final String CHAT = "/v1/chat/completions";
  private static final String BODY = "{\"model\":\"m\"}";
  private static final String VLLM =
      "{\"error\":{\"message\":\"The model `m` does not exist.\",\"type\":\"NotFoundError\","
          + "\"param\":\"model\",\"code\":404}}";

  private static ProxyRig rig() throws IOException {
    return new ProxyRig(Transport.AUTO, ProxySettings.DEFAULTS, new FakeClock());
  }

  private static Worker serving(ProxyRig rig, ScriptedEngine engine) {
    return rig.worker(engine.url());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        VLLM,
        "{\"object\":\"error\",\"message\":\"The model `m` does not exist.\","
            + "\"type\":\"NotFoundError\",\"param\":null,\"code\":404}",
        "{\"error\":{\"message\":\"x\",\"param\":null,\"code\": \"model_not_found\"}}",
        "{\"type\":\"error\",\"error\":{\"type\":\"not_found_error\",\"message\":\"model: m\"}}"
      })
  void anotherWorkerServesTheRequestAndTheListIsReadAgain(String notFound) throws Exception {
    try (ProxyRig rig = rig();
        ScriptedEngine other = ScriptedEngine.start(new Answer(404, notFound));
        ScriptedEngine good = ScriptedEngine.start(Answer.ok())) {
      Worker restarted = serving(rig, other);
      serving(rig, good);
      while (other.requests().isEmpty()) {
        assertThat(rig.ask(ProxyRig.post(CHAT, BODY)).status()).isEqualTo(200);
      }

      assertThat(rig.missing).containsExactly(restarted.id() + " m");
      assertThat(rig.retried).containsExactly(RetryReason.NOT_THERE);
      assertThat(rig.outcomes).containsOnlyOnce(Outcome.IGNORED);
      assertThat(restarted.failures()).isZero();
      assertThat(restarted.inFlight()).isZero();
    }
  }

  @Test
  void theClientGetsTheErrorOfTheEngineIfNoWorkerServesTheModel() throws Exception {
    try (ProxyRig rig = rig();
        ScriptedEngine one = ScriptedEngine.start(new Answer(404, VLLM));
        ScriptedEngine two = ScriptedEngine.start(new Answer(404, VLLM))) {
      serving(rig, one);
      serving(rig, two);

      WireResponse response = rig.ask(ProxyRig.post(CHAT, BODY));

      assertThat(response.status()).isEqualTo(404);
      assertThat(response.text()).isEqualTo(VLLM);
      assertThat(rig.missing).hasSize(2);
      assertThat(one.requests()).hasSize(1);
      assertThat(two.requests()).hasSize(1);
    }
  }

  @Test
  void a404IsNotTheAnswerWhileABusyWorkerServesTheModel() throws Exception {
    try (ProxyRig rig = rig();
        ScriptedEngine one = ScriptedEngine.start(new Answer(404, VLLM));
        ScriptedEngine two = ScriptedEngine.start(Answer.ok())) {
      serving(rig, one);
      serving(rig, two).rest(5_000_000_000L);

      WireResponse response = rig.ask(ProxyRig.post(CHAT, BODY));

      assertThat(response.status()).isEqualTo(503);
      assertThat(response.values("retry-after")).containsExactly("5");
      assertThat(one.requests()).hasSize(1);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "{\"detail\":\"Not Found\"}",
        "{\"error\":{\"message\":\"no tool\",\"type\":\"NotFoundError\",\"param\":\"tools\"}}"
      })
  void another404GoesToTheClient(String notFound) throws Exception {
    try (ProxyRig rig = rig();
        ScriptedEngine one = ScriptedEngine.start(new Answer(404, notFound));
        ScriptedEngine two = ScriptedEngine.start(new Answer(404, notFound))) {
      serving(rig, one);
      serving(rig, two);

      WireResponse response = rig.ask(ProxyRig.post(CHAT, BODY));

      assertThat(response.status()).isEqualTo(404);
      assertThat(response.text()).isEqualTo(notFound);
      assertThat(rig.missing).isEmpty();
      assertThat(rig.retried).isEmpty();
      assertThat(rig.outcomes).containsExactly(Outcome.REFUSED);
    }
  }

  @Test
  void aModelThatTheWorkerDoesNotListIsTheClientsMistake() throws Exception {
    try (ProxyRig rig = rig();
        ScriptedEngine engine = ScriptedEngine.start(new Answer(404, VLLM))) {
      rig.fleet().learnModels(rig.worker(WorkerSpec.of(engine.url())), Set.of());

      assertThat(rig.ask(ProxyRig.post(CHAT, BODY)).text()).isEqualTo(VLLM);

      assertThat(rig.missing).isEmpty();
      assertThat(rig.outcomes).containsExactly(Outcome.REFUSED);
    }
  }
}

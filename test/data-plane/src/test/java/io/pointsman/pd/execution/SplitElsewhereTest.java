package io.pointsman.pd.execution;

import static io.pointsman.pd.execution.SplitRig.request;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.pd.rule.SplitSettings;
import io.pointsman.proxy.ProxyRig;
import io.pointsman.proxy.ProxySettings;
import io.pointsman.proxy.WireResponse;
import io.pointsman.testkit.engine.EngineScript;
import io.pointsman.testkit.engine.Faults.Answer;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Requests that some workers cannot serve: those without the model, and routers passed before. */
@SuppressWarnings("try") // tests may be interrupted
@Timeout(60)
class SplitElsewhereTest {
  private static final String PASSED = "00000000000000aa";
  private static final Answer MISSING =
      new Answer(
          404,
          "{\"error\":{\"message\":\"The model `m` does not exist.\",\"type\":\"NotFoundError\","
              + "\"param\":\"model\",\"code\":404}}");
  private static final Answer FIRST =
      new Answer(
          200,
          "{\"choices\":[{\"index\":0,\"text\":\" a\",\"finish_reason\":\"length\"}],"
              + "\"kv_transfer_params\":{\"first_tok\":3}}");

  private static ScriptedEngine engine(SplitRig rig, Role role, EngineScript script)
      throws IOException {
    return switch (role) {
      case REGULAR -> rig.regular(script);
      case PREFILL -> rig.prefill(script);
      case DECODE -> rig.decode(script);
    };
  }

  private static Answer good(Role role) {
    return role == Role.PREFILL ? FIRST : Answer.ok();
  }

  /** Starts the other role of a pair. */
  private static void partner(SplitRig rig, Role role) throws IOException {
    partner(rig, role, Answer.ok());
  }

  private static void partner(SplitRig rig, Role role, EngineScript decode) throws IOException {
    if (role == Role.PREFILL) {
      rig.decode(decode);
    } else if (role == Role.DECODE) {
      rig.prefill(FIRST);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "nixl, REGULAR",
    "nixl, PREFILL",
    "nixl, DECODE",
    "sglang, PREFILL",
    "sglang, DECODE"
  })
  void anotherWorkerOfTheRoleServesTheModel(String protocol, Role role) throws Exception {
    try (SplitRig rig = new SplitRig(protocol)) {
      ScriptedEngine without = engine(rig, role, MISSING);
      CountDownLatch asked = new CountDownLatch(1);
      ScriptedEngine with =
          engine(
              rig,
              role,
              (request, connection) -> {
                asked.countDown();
                good(role).answer(request, connection);
              });
      // With both at once, the answer of decode ends the request without another prefill.
      partner(
          rig,
          role,
          (request, connection) -> {
            asked.await();
            Answer.ok().answer(request, connection);
          });
      Worker restarted = rig.worker(without);
      while (without.requests().isEmpty()) {
        assertThat(rig.proxy.ask(request()).status()).isEqualTo(200);
      }

      assertThat(with.requests()).isNotEmpty();
      assertThat(rig.proxy.missing).containsExactly(restarted.id() + " m");
      assertThat(restarted.failures()).isZero();
      ProxyRig.await("settled", () -> restarted.inFlight() == 0);
    }
  }

  @ParameterizedTest
  @EnumSource(Role.class)
  void theClientGetsTheErrorOfTheEngineIfNoWorkerServesTheModel(Role role) throws Exception {
    try (SplitRig rig = new SplitRig("nixl")) {
      ScriptedEngine one = engine(rig, role, MISSING);
      ScriptedEngine two = engine(rig, role, MISSING);
      if (role == Role.PREFILL) {
        // Without a prefill, the decode worker computes all.
        rig.decode(MISSING);
      } else {
        partner(rig, role);
      }

      WireResponse answer = rig.proxy.ask(request());

      assertThat(answer.status()).isEqualTo(404);
      assertThat(answer.text()).contains("The model `m` does not exist.");
      // Decode workers are also asked to free the blocks of the prefill.
      int most = role == Role.DECODE ? 8 : 1;
      assertThat(one.requests()).hasSizeBetween(1, most);
      assertThat(two.requests()).hasSizeBetween(1, most);
      rig.awaitReleases();
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = Role.class,
      names = {"REGULAR", "DECODE"})
  void a404IsNotTheAnswerWhileABusyWorkerServesTheModel(Role role) throws Exception {
    try (SplitRig rig = new SplitRig("nixl")) {
      ScriptedEngine one = engine(rig, role, MISSING);
      ScriptedEngine two = engine(rig, role, good(role));
      partner(rig, role);
      // Longer than the wait for a slot.
      rig.worker(two).rest(Duration.ofMinutes(1).toNanos());

      WireResponse answer = rig.proxy.ask(request());

      assertThat(answer.status()).isEqualTo(503);
      assertThat(answer.values("retry-after")).hasSize(1);
      assertThat(one.requests()).hasSize(1);
      assertThat(two.requests()).isEmpty();
      // The free worker frees the blocks of the prefill.
      rig.clock.advance(Duration.ofMinutes(2));
      rig.awaitReleases();
    }
  }

  @Test
  void a404OfAPrefillIsNotTheAnswerWhileABusyWorkerServesTheModel() throws Exception {
    try (SplitRig rig = halvesOnly()) {
      ScriptedEngine prefill = rig.prefill(MISSING);
      ScriptedEngine decode = rig.decode(Answer.ok());
      ScriptedEngine regular = rig.regular(Answer.ok());
      // Longer than the wait for a slot.
      rig.worker(regular).rest(Duration.ofMinutes(1).toNanos());

      WireResponse answer = rig.proxy.ask(request());

      assertThat(answer.status()).isEqualTo(503);
      assertThat(answer.values("retry-after")).hasSize(1);
      assertThat(prefill.requests()).hasSize(1);
      assertThat(List.copyOf(decode.requests())).isEmpty();
      assertThat(List.copyOf(regular.requests())).isEmpty();
    }
  }

  @Test
  void decodeServesAloneAfterManyPrefillWorkersWithoutTheModel() throws Exception {
    try (SplitRig rig = new SplitRig("nixl")) {
      List<ScriptedEngine> prefills = new ArrayList<>();
      for (int i = 0; i < 18; i++) {
        prefills.add(rig.prefill(MISSING));
      }
      rig.decode(Answer.ok());

      assertThat(rig.proxy.ask(request()).status()).isEqualTo(200);

      assertThat(prefills).filteredOn(each -> !each.requests().isEmpty()).hasSize(17);
    }
  }

  @Test
  void thePrefillIsKeptAfterADecodeWorkerWithoutTheModel() throws Exception {
    try (SplitRig rig = new SplitRig("nixl")) {
      ScriptedEngine prefill = rig.prefill(FIRST);
      ScriptedEngine without = rig.decode(MISSING);
      rig.decode(Answer.ok());
      int asked = 0;
      while (without.requests().isEmpty()) {
        assertThat(rig.proxy.ask(request()).status()).isEqualTo(200);
        asked++;
      }
      assertThat(prefill.requests()).hasSize(asked);
      rig.awaitReleases();
    }
  }

  private static SplitRig halvesOnly() throws IOException {
    return new SplitRig(SplitRig.named("nixl"), ProxySettings.DEFAULTS, SplitSettings.HALVES_ONLY);
  }

  private static String passed() {
    return ProxyRig.post(
        SplitRig.PATH,
        "x-pointsman-via: b, " + PASSED + "\r\n",
        "{\"model\":\"m\",\"prompt\":\"hello\",\"max_tokens\":5}");
  }

  @ParameterizedTest
  @EnumSource(Role.class)
  void noRouterGetsARequestThatItHasPassed(Role role) throws Exception {
    try (SplitRig rig = new SplitRig("nixl")) {
      ScriptedEngine router = engine(rig, role, good(role));
      ScriptedEngine other = engine(rig, role, good(role));
      partner(rig, role);
      rig.worker(router).probes().answeredBy(PASSED);

      for (int i = 0; i < 8; i++) {
        assertThat(rig.proxy.ask(passed()).status()).isEqualTo(200);
      }
      assertThat(router.requests()).isEmpty();
      assertThat(other.requests()).hasSize(8);
      while (router.requests().isEmpty()) {
        assertThat(rig.proxy.ask(request()).status()).isEqualTo(200);
      }
    }
  }

  @ParameterizedTest
  @EnumSource(Role.class)
  void aRequestGets508IfItHasPassedAllWorkers(Role role) throws Exception {
    try (SplitRig rig = halvesOnly()) {
      ScriptedEngine router = engine(rig, role, good(role));
      partner(rig, role);
      rig.worker(router).probes().answeredBy(PASSED);

      WireResponse answer = rig.proxy.ask(passed());

      assertThat(answer.status()).isEqualTo(508);
      assertThat(answer.text()).contains("\"code\":\"routing_loop\"");
      assertThat(List.copyOf(router.requests())).isEmpty();
      assertThat(rig.proxy.ask(request()).status()).isEqualTo(200);
    }
  }

  private static void fail(Worker worker) {
    while (worker.health().healthy()) {
      worker.probed(false);
    }
  }

  @Test
  void noLoopIsReportedIfAnotherRoleIsMissing() throws Exception {
    try (SplitRig rig = halvesOnly()) {
      fail(rig.worker(rig.prefill(FIRST)));
      rig.worker(rig.decode(Answer.ok())).probes().answeredBy(PASSED);
      rig.decode(Answer.ok());

      WireResponse answer = rig.proxy.ask(passed());

      assertThat(answer.status()).isEqualTo(503);
      assertThat(answer.text()).contains("no prefill worker is available");
      assertThat(answer.values("retry-after")).hasSize(1);
    }
  }

  @Test
  void noLoopIsReportedIfTheRouterServesAnotherModel() throws Exception {
    try (SplitRig rig = halvesOnly();
        ScriptedEngine router = ScriptedEngine.start(Answer.ok())) {
      fail(rig.worker(rig.regular(Answer.ok())));
      WorkerSpec other = WorkerSpec.of(router.url()).withModels(Set.of("other"));
      rig.proxy.worker(other).probes().answeredBy(PASSED);

      WireResponse answer = rig.proxy.ask(passed());

      assertThat(answer.status()).isEqualTo(503);
      assertThat(List.copyOf(router.requests())).isEmpty();
    }
  }
}

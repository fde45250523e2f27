package io.pointsman.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.proxy.upstream.EngineKeys;
import io.pointsman.proxy.upstream.UpstreamSettings;
import io.pointsman.testkit.Residue;
import io.pointsman.testkit.engine.Faults.Answer;
import io.pointsman.testkit.engine.FleetFault;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Faults of workers' names, as clients see them. {@code NameTableTest} tests the table itself. */
@SuppressWarnings("try") // tests may be interrupted
@Timeout(60)
class NameFaultsTest {
  private static final String REQUEST = ProxyRig.post("/v1/chat/completions", "{\"model\":\"m\"}");

  /** A separate worker serves it; its name has no fault. */
  private static final String NORMAL =
      ProxyRig.post("/v1/chat/completions", "{\"model\":\"normal\"}");

  private static final List<InetAddress> LOOPBACK = List.of(InetAddress.getLoopbackAddress());
  private static final List<InetAddress> ELSEWHERE = List.of(InetAddress.ofLiteral("127.0.0.2"));

  /** Status if another request has already taken the worker out. */
  private static final int OUT_ALREADY = 503;

  private static final ProxySettings FORGETFUL = forgetful(Duration.ofSeconds(30));

  /** Cancels a lookup after its timeout, which is much longer than a connect takes. */
  private static final ProxySettings IMPATIENT = forgetful(Duration.ofSeconds(2));

  private static ProxySettings forgetful(Duration connectTimeout) {
    return ProxySettings.DEFAULTS.withUpstream(
        new UpstreamSettings(
            connectTimeout,
            Duration.ofMillis(200),
            16,
            64 << 10,
            Duration.ofMillis(50),
            Duration.ZERO,
            EngineKeys.NONE));
  }

  @ParameterizedTest
  @EnumSource(mode = EnumSource.Mode.MATCH_ALL, names = "NAME_.*")
  void aNameFaultAffectsOnlyTheWorkerWithTheName(FleetFault fault) throws Exception {
    switch (fault) {
      case NAME_MOVES -> moves();
      case NAME_IS_UNKNOWN -> unknown();
      case NAME_LOOK_UP_HANGS -> hangs();
      case NAME_HAS_SEVERAL_ADDRESSES -> severalAddresses();
      default -> throw new AssertionError(fault + ": tested elsewhere");
    }
  }

  private static WorkerSpec named(int port) {
    return WorkerSpec.of("http://engine.test:" + port).withModels(Set.of("m"));
  }

  /**
   * Connections to the old address close after their idle timeout. Later ones use the new address.
   * If no server is left at the old address, clients get 502 until the next lookup.
   */
  private static void moves() throws Exception {
    try (ProxyRig rig = new ProxyRig(Transport.AUTO, FORGETFUL);
        ScriptedEngine first = ScriptedEngine.start(Answer.ok());
        ScriptedEngine second =
            ScriptedEngine.start(Answer.ok(), ELSEWHERE.getFirst(), first.port());
        ScriptedEngine normal = ScriptedEngine.start(Answer.ok())) {
      Aftermath aftermath = before(rig, normal);
      rig.lookup = _ -> LOOPBACK;
      Worker worker = rig.worker(named(first.port()));
      assertThat(answered(rig, worker)).containsOnly(200);
      assertThat(first.requests()).hasSize(Residue.FOUND);

      rig.lookup = _ -> ELSEWHERE;
      ProxyRig.await(
          "served where it is now",
          () -> {
            ProxyRig.await("old connections go", () -> first.openConnections() == 0);
            assertThat(answered(rig, worker)).containsOnly(200);
            return !second.requests().isEmpty();
          });

      rig.lookup = _ -> LOOPBACK;
      second.stopListening();
      int before = first.requests().size();
      ProxyRig.await(
          "served where it is again",
          () -> {
            List<Integer> statuses = answered(rig, worker);
            assertThat(statuses).isSubsetOf(200, 502, OUT_ALREADY);
            return statuses.stream().allMatch(status -> status == 200);
          });
      assertThat(first.requests()).hasSizeGreaterThan(before);
      aftermath.verify(first, second, normal);
    }
  }

  /** Requests use all addresses; one that refuses costs no attempt. */
  private static void severalAddresses() throws Exception {
    try (ProxyRig rig = new ProxyRig(Transport.AUTO, FORGETFUL);
        ScriptedEngine first = ScriptedEngine.start(Answer.ok());
        ScriptedEngine second =
            ScriptedEngine.start(Answer.ok(), ELSEWHERE.getFirst(), first.port());
        ScriptedEngine normal = ScriptedEngine.start(Answer.ok())) {
      Aftermath aftermath = before(rig, normal);
      rig.lookup = _ -> List.of(LOOPBACK.getFirst(), ELSEWHERE.getFirst());
      Worker worker = rig.worker(named(first.port()));
      for (int i = 0; i < 20; i++) {
        assertThat(rig.ask(REQUEST).status()).isEqualTo(200);
      }
      assertThat(first.requests()).hasSizeBetween(8, 12);
      assertThat(second.requests()).hasSizeBetween(8, 12);

      for (ScriptedEngine gone : List.of(first, second)) {
        gone.stopListening();
        rig.outcomes.clear();
        for (int i = 0; i < 20; i++) {
          assertThat(rig.ask(REQUEST).status()).isEqualTo(200);
        }
        assertThat(answered(rig, worker)).containsOnly(200);
        assertThat(rig.outcomes).containsOnly(Outcome.SUCCEEDED);
        gone.listenAgain();
      }
      first.stopListening();
      second.stopListening();
      assertThat(rig.ask(REQUEST).status()).isEqualTo(502);
      aftermath.verify(normal);
    }
  }

  /** The lookup reports the shortage, because a test cannot use up the ports of a machine. */
  @Test
  void missingPortsAreNotBlamedOnWorkers() throws Exception {
    try (ProxyRig rig = new ProxyRig(Transport.AUTO, FORGETFUL)) {
      rig.lookup =
          _ -> {
            UnknownHostException failure = new UnknownHostException("engine.test");
            failure.initCause(new BindException("Cannot assign requested address"));
            throw failure;
          };
      Worker worker = rig.worker(named(1));

      WireResponse response = rig.ask(REQUEST);

      assertThat(response.status()).isEqualTo(503);
      assertThat(response.text()).contains("\"code\":\"out_of_ports\"");
      assertThat(response.header("retry-after")).isNotNull();
      assertThat(worker.health().healthy()).isTrue();
      assertThat(rig.outcomes).containsExactly(Outcome.IGNORED);
    }
  }

  @Test
  void aNameMayHaveAnUnderscore() throws Exception {
    try (ProxyRig rig = new ProxyRig(Transport.AUTO, FORGETFUL);
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.lookup =
          name -> {
            assertThat(name).isEqualTo("vllm_engine_1");
            return LOOPBACK;
          };
      rig.worker(WorkerSpec.of("http://vllm_engine_1:" + engine.port()).withModels(Set.of("m")));
      assertThat(rig.ask(REQUEST).status()).isEqualTo(200);
    }
  }

  private static Aftermath before(ProxyRig rig, ScriptedEngine normal) throws IOException {
    rig.worker(WorkerSpec.of(normal.url()).withModels(Set.of("normal")));
    return Aftermath.of(rig, NORMAL);
  }

  /** Answers to many concurrent clients, with the worker in service. */
  private static List<Integer> answered(ProxyRig rig, Worker worker) {
    recover(worker);
    try {
      return Aftermath.byMany(() -> rig.ask(REQUEST).status());
    } catch (InterruptedException | ExecutionException e) {
      throw new AssertionError(e);
    }
  }

  private static void recover(Worker worker) {
    while (!worker.health().healthy()) {
      worker.probed(true);
    }
  }

  /** The request goes to another worker; without one, the status is 502. */
  private static void unknown() throws Exception {
    try (ProxyRig rig = new ProxyRig(Transport.AUTO, FORGETFUL);
        ScriptedEngine normal = ScriptedEngine.start(Answer.ok());
        ScriptedEngine other = ScriptedEngine.start(Answer.ok())) {
      Aftermath aftermath = before(rig, normal);
      rig.lookup =
          host -> {
            throw new UnknownHostException(host);
          };
      Worker worker = rig.worker(named(1));
      assertThat(rig.ask(REQUEST).status()).isEqualTo(502);
      assertThat(answered(rig, worker)).isSubsetOf(502, OUT_ALREADY);
      recover(worker);
      rig.worker(other.url());
      rig.outcomes.clear();
      rig.retried.clear();
      assertThat(rig.ask(REQUEST).status()).isEqualTo(200);
      assertTriedElsewhere(rig);
      assertThat(answered(rig, worker)).containsOnly(200);
      aftermath.verify(normal, other);
    }
  }

  /** The first choice was the worker with the fault. */
  private static void assertTriedElsewhere(ProxyRig rig) {
    assertThat(rig.outcomes).hasSize(2);
    assertThat(rig.outcomes.getFirst()).isInstanceOf(Outcome.Failed.class);
    assertThat(rig.outcomes.getLast()).isEqualTo(Outcome.SUCCEEDED);
    assertThat(rig.retried).hasSize(1);
  }

  /**
   * The request goes to another worker after the connect timeout. The loop serves other requests
   * during it.
   */
  private static void hangs() throws Exception {
    CountDownLatch answered = new CountDownLatch(1);
    try (ProxyRig rig = new ProxyRig(Transport.AUTO, IMPATIENT);
        ScriptedEngine normal = ScriptedEngine.start(Answer.ok());
        ScriptedEngine other = ScriptedEngine.start(Answer.ok())) {
      Aftermath aftermath = before(rig, normal);
      rig.lookup =
          host -> {
            try {
              answered.await();
            } catch (InterruptedException _) {
              Thread.currentThread().interrupt();
            }
            return LOOPBACK;
          };
      Worker worker = rig.worker(named(other.port()));
      assertThat(rig.ask(REQUEST).status()).isEqualTo(502);
      assertThat(answered(rig, worker)).isSubsetOf(502, OUT_ALREADY);
      recover(worker);
      rig.worker(other.url());
      rig.outcomes.clear();
      rig.retried.clear();
      assertThat(rig.ask(REQUEST).status()).isEqualTo(200);
      assertTriedElsewhere(rig);
      assertThat(answered(rig, worker)).containsOnly(200);
      answered.countDown();
      aftermath.verify(normal, other);
    }
  }
}

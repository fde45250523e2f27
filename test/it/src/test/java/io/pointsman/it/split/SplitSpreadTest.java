package io.pointsman.it.split;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.netty.channel.EventLoopGroup;
import io.pointsman.config.ConfigValues;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.key.DisaggKeys;
import io.pointsman.config.key.FrontKeys;
import io.pointsman.config.key.OperationKeys;
import io.pointsman.it.support.ConcurrentClients;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.Scale;
import io.pointsman.it.support.WaitFor;
import io.pointsman.server.wiring.Router;
import io.pointsman.tool.demo.PdEngines;
import io.pointsman.tool.sim.SimConfig;
import io.pointsman.tool.sim.SimEngine;
import io.pointsman.tool.sim.kv.KvConnector;
import java.net.URI;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Distribution of requests over different numbers of prefill and decode engines. */
@Timeout(300)
@Tag("full")
final class SplitSpreadTest {
  private static final int AT_ONCE = 16;
  private static final int GROUPS = 16;
  private static final int SHARED_TOKENS = 1024;
  private static final int OWN_TOKENS = 128;

  private final Random random = new Random(11);

  /** A split fleet, the router, and the checks at the end. */
  private static final class Rig implements AutoCloseable {
    private final EventLoopGroup loops = SimEngine.newGroup(2);
    private final PdEngines fleet;
    private final Router router;

    Rig(int prefills, int decodes, String prefillPolicy, String decodePolicy) {
      SimConfig engine = SimConfig.instant().withModels("sim").withLinearLatency(0, 1);
      fleet =
          PdEngines.start(
              prefills, decodes, KvConnector.NIXL, engine, UnaryOperator.identity(), loops);
      ConfigValues values =
          fleet
              .configure(new ConfigValues())
              .set(FrontKeys.PORT, 0)
              .set(OperationKeys.METRICS_PORT, 0)
              .set(DisaggKeys.PREFILL_POLICY, prefillPolicy)
              .set(DisaggKeys.DECODE_POLICY, decodePolicy);
      router = Router.start(PointsmanConfig.from(values), "test");
      WaitFor.until(
          () -> "all workers healthy",
          WaitFor.LONG,
          () ->
              router.fleet().snapshot().workers().stream()
                  .allMatch(worker -> worker.health().healthy()));
    }

    /** Sends all requests and waits until none is active. */
    void serve(List<String> bodies) throws Exception {
      int port = URI.create(router.url()).getPort();
      List<Integer> statuses =
          ConcurrentClients.of(
              bodies.size(),
              AT_ONCE,
              i -> () -> RawClient.call(port, "POST", "/v1/completions", bodies.get(i)).status());
      assertThat(statuses).containsOnly(200);
      WaitFor.until(
          () -> "nothing in flight and nothing reserved: " + fleet.handovers(),
          WaitFor.LONG,
          () -> router.inFlight() == 0 && fleet.handovers().reserved() == 0);
      assertThat(fleet.handovers().leaked()).isZero();
      assertThat(fleet.handovers().fieldErrors()).isZero();
    }

    @Override
    public void close() {
      router.close();
      fleet.close();
      loops.shutdownGracefully(0, 1, TimeUnit.SECONDS);
    }
  }

  private List<Integer> tokens(int count) {
    return random.ints(count, 1000, 30_000).boxed().toList();
  }

  private static String body(List<Integer> tokens) {
    return "{\"model\":\"sim\",\"max_tokens\":4,\"prompt\":"
        + tokens.stream().map(String::valueOf).collect(Collectors.joining(",", "[", "]"))
        + "}";
  }

  @ParameterizedTest
  @CsvSource({"2, 4", "4, 1"})
  void roundRobinGivesEachEngineOfAStageItsShare(int prefills, int decodes) throws Exception {
    int requests = Scale.of(400, 8000);
    List<String> bodies = new ArrayList<>();
    for (int i = 0; i < requests; i++) {
      bodies.add(body(tokens(200)));
    }
    try (Rig rig = new Rig(prefills, decodes, "round_robin", "round_robin")) {
      rig.serve(bodies);
      List<Long> first =
          rig.fleet.prefills().stream().map(e -> e.kvState().steps().prefill()).toList();
      List<Long> second =
          rig.fleet.decodes().stream().map(e -> e.kvState().steps().decode()).toList();
      Scale.report("spread " + prefills + "P:" + decodes + "D", first + " " + second);
      fair(first, requests);
      fair(second, requests);
    }
  }

  private static void fair(List<Long> shares, int requests) {
    double share = (double) requests / shares.size();
    assertThat(shares.stream().mapToLong(Long::longValue).sum()).isEqualTo(requests);
    assertThat(shares)
        .allSatisfy(each -> assertThat((double) each).isCloseTo(share, within(share / 10)));
  }

  /** All requests of a group but the first can find the shared part. */
  @ParameterizedTest
  @CsvSource({"2, 4", "4, 1"})
  void prefixAffinityFindsNearlyAllSharedTokens(int prefills, int decodes) throws Exception {
    int requests = Scale.of(480, 4800);
    List<String> bodies = new ArrayList<>();
    for (int group = 0; group < GROUPS; group++) {
      List<Integer> shared = tokens(SHARED_TOKENS);
      for (int i = 0; i < requests / GROUPS; i++) {
        List<Integer> prompt = new ArrayList<>(shared);
        prompt.addAll(tokens(OWN_TOKENS));
        bodies.add(body(prompt));
      }
    }
    Collections.shuffle(bodies, random);
    try (Rig rig = new Rig(prefills, decodes, "cache_aware", "least_load")) {
      rig.serve(bodies);
      long queries = 0;
      long hits = 0;
      for (SimEngine engine : rig.fleet.prefills()) {
        queries += engine.state().tokens().cacheQueries();
        hits += engine.state().tokens().cacheHits();
      }
      double ceiling =
          100.0
              * (requests - GROUPS)
              * SHARED_TOKENS
              / ((double) requests * (SHARED_TOKENS + OWN_TOKENS));
      double rate = 100.0 * hits / queries;
      Scale.report(
          "prefill hits " + prefills + "P:" + decodes + "D",
          String.format(Locale.ROOT, "%.1f %% of %.1f %%", rate, ceiling));
      assertThat(queries).isEqualTo((long) requests * (SHARED_TOKENS + OWN_TOKENS));
      assertThat(rate).isBetween(ceiling - 3, ceiling + 0.01);
    }
  }
}

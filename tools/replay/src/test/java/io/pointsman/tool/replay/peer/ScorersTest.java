package io.pointsman.tool.replay.peer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.pointsman.engine.policy.catalog.PolicySettings;
import io.pointsman.engine.policy.catalog.PolicySetup;
import io.pointsman.tool.replay.run.Simulation;
import io.pointsman.tool.replay.run.SimulationSettings;
import io.pointsman.tool.replay.trace.Trace;
import io.pointsman.tool.replay.trace.TraceRequest;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/**
 * The cost of requests by other routers' rules, computed by hand. There are two engines with blocks
 * of 64 tokens. The first receives every request except the last.
 */
class ScorersTest {
  private static final int BLOCK = 64;

  /** Less than a step, so no request has been answered. */
  private static final double AT_ONCE = 1;

  /** Fills a step: later prompts wait and are not cached yet. */
  private static final TraceRequest STEP = prompt(0, 8192, 1_000_000);

  private static final double LATER = 60_000;

  private final Map<String, Double> costs = new TreeMap<>();

  /** A prompt of {@code tokens} tokens with consecutive blocks from {@code firstBlock}. */
  private static TraceRequest prompt(double at, int tokens, long firstBlock) {
    long[] blocks = new long[Math.ceilDiv(tokens, BLOCK)];
    for (int i = 0; i < blocks.length; i++) {
      blocks[i] = firstBlock + i;
    }
    return new TraceRequest(at, -1, tokens, 1, blocks);
  }

  /** Computes the cost of the last request on both engines. */
  private void score(Scorer scorer, TraceRequest... requests) {
    SimulationSettings settings =
        new SimulationSettings(2, 400_000, Map.of(), List.of(), 1, PolicySettings.DEFAULTS);
    Simulation.run(
        new Trace("few", BLOCK, List.of(requests)),
        (parts, view) -> {
          Scorer recording =
              (engine, exchange) -> {
                String url = engine.worker().spec().url();
                costs.put(url, scorer.cost(engine, exchange));
                return url.endsWith("0") ? 0 : 1;
              };
          return new PolicySetup(
              new ScoredPolicy(view, recording, parts.random(), false), List.of());
        },
        settings);
  }

  private void assertCosts(double first, double second) {
    assertThat(costs.get("http://engine-0")).as("first").isCloseTo(first, within(1e-6));
    assertThat(costs.get("http://engine-1")).as("second").isCloseTo(second, within(1e-6));
  }

  /** (Uncached tokens + tokens without a first token) x (requests in flight + 1). */
  @Test
  void uncachedTimesInFlight() {
    // 10 of 10.5 blocks are cached; 1,000 tokens of another prompt are not computed yet.
    score(
        Scorers::uncachedTimesInFlight,
        prompt(0, 672, 1),
        prompt(LATER, 1000, 100),
        prompt(LATER + AT_ONCE, 672, 1));

    assertCosts((32 + 1000) * 2, 672);
  }

  @Test
  void blocksBeingComputedDoNotCountForEventBasedRouters() {
    score(
        Scorers::uncachedTimesInFlight, STEP, prompt(AT_ONCE, 672, 1), prompt(2 * AT_ONCE, 672, 1));

    assertCosts((8192 + 672 + 672) * 3, 672);
  }

  /** Weight x blocks to compute + distinct blocks in flight. */
  @Test
  void dynamo() {
    TraceRequest[] requests = {
      prompt(0, 672, 1), prompt(LATER, 1280, 100), prompt(LATER + AT_ONCE, 672, 1)
    };
    // 20 blocks of the other and 10 of its own are in flight with it.
    score(Scorers.dynamo(1), requests);
    assertCosts((32 + 1280) / 64.0 + 20 + 10, 672 / 64.0 + 10);
    score(Scorers.dynamo(4), requests);
    assertCosts(4 * (32 + 1280) / 64.0 + 20 + 10, 4 * 672 / 64.0 + 10);
  }

  @Test
  void dynamoCountsCommonBlocksInFlightOnce() {
    score(Scorers.dynamo(1), STEP, prompt(AT_ONCE, 672, 1), prompt(2 * AT_ONCE, 672, 1));

    assertCosts((8192 + 672 + 672) / 64.0 + 128 + 10, 672 / 64.0 + 10);
  }

  /** Uncached tokens that are not computed yet; placed prompts count as cached at once. */
  @Test
  void llmdFollowsAHolderOfFourFifths() {
    double giveUp = 18 * 15_928;
    // 10 of 12.48 blocks are just more than 0.8, of 12.52 just less.
    score(Scorers::llmd, STEP, prompt(AT_ONCE, 640, 1), prompt(2 * AT_ONCE, 799, 1));
    assertCosts(8192 + 640 + 159, 799 + giveUp);

    score(Scorers::llmd, STEP, prompt(AT_ONCE, 640, 1), prompt(2 * AT_ONCE, 801, 1));
    assertCosts(8192 + 640 + 161 + giveUp, 801 + giveUp);
  }

  /** A holder is followed up to a surplus of 18 s of prefill at 15,928 tokens per second. */
  @Test
  void llmdAbandonsAnOverloadedHolder() {
    int tokens = 18 * 15_928;
    score(
        Scorers::llmd,
        prompt(0, 6400, 1),
        prompt(LATER, tokens - 100, 1000),
        prompt(LATER, 6500, 1));
    assertThat(costs.get("http://engine-0")).isLessThan(costs.get("http://engine-1"));

    score(
        Scorers::llmd,
        prompt(0, 6400, 1),
        prompt(LATER, tokens + 6401, 1000),
        prompt(LATER, 6500, 1));
    assertThat(costs.get("http://engine-0")).isGreaterThan(costs.get("http://engine-1"));
  }
}

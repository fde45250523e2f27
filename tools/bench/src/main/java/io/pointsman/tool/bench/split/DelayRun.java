package io.pointsman.tool.bench.split;

import io.pointsman.config.key.DisaggKeys;
import io.pointsman.tool.bench.split.Turns.Way;
import io.pointsman.tool.sim.kv.KvConnector;
import io.pointsman.tool.sim.kv.KvState;
import java.io.IOException;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * Measures the delay that the router adds: the same requests to the engines directly and through
 * the router.
 */
final class DelayRun {
  private DelayRun() {}

  /** Paths of a request. */
  enum Route {
    SPLIT_BY_HAND("split, client asks both engines"),
    SPLIT_ROUTED("split, through the router"),
    WHOLE_DIRECT("whole, client asks decode"),
    WHOLE_ROUTED("whole, through the router");

    private final String label;

    Route(String label) {
      this.label = label;
    }

    String label() {
      return label;
    }
  }

  static Map<Route, List<Timed>> of(DelayOptions options) throws IOException, InterruptedException {
    try (PdBenchRig rig =
            PdBenchRig.start(
                1,
                1,
                KvConnector.NIXL,
                options.engine(),
                values ->
                    values
                        .set(DisaggKeys.CACHED_SHARE, Rule.NEVER_CACHED)
                        .set(DisaggKeys.THRESHOLD, options.prompt() / 2));
        HandClient client = new HandClient(rig, new Random(1))) {
      int prompt = options.prompt();
      int brief = options.shortPrompt();
      int answer = options.answer();
      EnumMap<Route, Way> ways = new EnumMap<>(Route.class);
      ways.put(Route.SPLIT_BY_HAND, () -> client.nixl(prompt, answer));
      ways.put(Route.SPLIT_ROUTED, () -> client.routed(prompt, answer));
      ways.put(Route.WHOLE_DIRECT, () -> client.whole(brief, answer));
      ways.put(Route.WHOLE_ROUTED, () -> client.routed(brief, answer));
      Map<Route, List<Timed>> answers = Turns.play(ways, options);
      verify(rig, options);
      return answers;
    }
  }

  /** Checks that the engines received the expected numbers of requests. */
  private static void verify(PdBenchRig rig, DelayOptions options) {
    long each = 2L * (options.warmup() + options.rounds());
    KvState.StepCounts decode = rig.fleet().decodes().getFirst().kvState().steps();
    if (rig.prefilled() != each || decode.decode() != each || decode.direct() != each) {
      throw new IllegalStateException(
          "split: %d prefills, %s (expected: %d of each)".formatted(rig.prefilled(), decode, each));
    }
  }
}

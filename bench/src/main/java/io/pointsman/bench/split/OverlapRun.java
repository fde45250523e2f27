package io.pointsman.bench.split;

import io.pointsman.app.config.key.DisaggKeys;
import io.pointsman.bench.split.Turns.Way;
import io.pointsman.sim.failure.Failure;
import io.pointsman.sim.failure.Fault;
import io.pointsman.sim.kv.KvConnector;
import java.io.IOException;
import java.time.Duration;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * What it brings that the two requests of some protocols are sent at once: decode's wait is over by
 * the time that prefill is.
 */
final class OverlapRun {
  private static final Duration START_LIMIT = Duration.ofMinutes(1);
  private static final int ANSWER = 2;

  private OverlapRun() {}

  /** Protocol, who sends, and in which order. */
  enum Order {
    MOONCAKE_ROUTED("mooncake through the router: at once"),
    MOONCAKE_AT_ONCE("mooncake by hand: at once"),
    MOONCAKE_IN_TURN("mooncake by hand: one after the other"),
    NIXL_ROUTED("nixl through the router: one after the other"),
    SGLANG_ROUTED("sglang through the router: at once");

    private final String label;

    Order(String label) {
      this.label = label;
    }

    String label() {
      return label;
    }
  }

  static Map<Order, List<Timed>> of(DelayOptions options) throws IOException, InterruptedException {
    try (SplitRig mooncake = rig(KvConnector.MOONCAKE, options);
        SplitRig nixl = rig(KvConnector.NIXL, options);
        SplitRig sglang = rig(KvConnector.SGLANG, options);
        HandClient mooncakeClient = new HandClient(mooncake, new Random(2));
        HandClient nixlClient = new HandClient(nixl, new Random(3));
        HandClient sglangClient = new HandClient(sglang, new Random(4))) {
      awaitSplit(mooncake, mooncakeClient, options);
      long before = mooncake.prefilled();
      int prompt = options.prompt();
      EnumMap<Order, Way> ways = new EnumMap<>(Order.class);
      ways.put(Order.MOONCAKE_ROUTED, () -> mooncakeClient.routed(prompt, ANSWER));
      ways.put(Order.MOONCAKE_AT_ONCE, () -> mooncakeClient.mooncake(prompt, ANSWER, true));
      ways.put(Order.MOONCAKE_IN_TURN, () -> mooncakeClient.mooncake(prompt, ANSWER, false));
      ways.put(Order.NIXL_ROUTED, () -> nixlClient.routed(prompt, ANSWER));
      ways.put(Order.SGLANG_ROUTED, () -> sglangClient.routed(prompt, ANSWER));
      Map<Order, List<Timed>> answers = Turns.play(ways, options);
      long each = (long) options.warmup() + options.rounds();
      verify("mooncake", mooncake.prefilled() - before, 3 * each);
      verify("nixl", nixl.prefilled(), each);
      verify("sglang", sglang.prefilled(), each);
      return answers;
    }
  }

  private static SplitRig rig(KvConnector connector, DelayOptions options)
      throws InterruptedException {
    SplitRig rig =
        SplitRig.start(
            1,
            1,
            connector,
            options.engine(),
            values -> values.set(DisaggKeys.HELD_SHARE, Rule.NEVER_HELD));
    if (options.decodeWait() > 0) {
      Failure wait = Failure.always(new Fault.Hang(options.decodeWait())).on("/v1/completions");
      rig.fleet().decodes().getFirst().failures().add(wait);
    }
    return rig;
  }

  /** Until the router knows the engine's id, one engine serves the whole. */
  private static void awaitSplit(SplitRig rig, HandClient client, DelayOptions options)
      throws IOException {
    long begin = System.nanoTime();
    while (rig.prefilled() == 0) {
      if (System.nanoTime() - begin > START_LIMIT.toNanos()) {
        throw new IllegalStateException("mooncake: nothing split within " + START_LIMIT);
      }
      client.routed(options.prompt(), ANSWER);
    }
  }

  private static void verify(String protocol, long split, long expected) {
    if (split != expected) {
      throw new IllegalStateException(
          protocol + ": " + split + " prefills (expected: " + expected + ")");
    }
  }
}

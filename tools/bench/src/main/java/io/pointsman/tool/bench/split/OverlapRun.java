package io.pointsman.tool.bench.split;

import io.pointsman.config.key.DisaggKeys;
import io.pointsman.tool.bench.split.Turns.Way;
import io.pointsman.tool.sim.failure.Fault;
import io.pointsman.tool.sim.failure.ScheduledFault;
import io.pointsman.tool.sim.kv.KvConnector;
import java.io.IOException;
import java.time.Duration;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * Measures the time saved by protocols that send both requests at once. The decode engine's delay
 * then overlaps with the prefill.
 */
final class OverlapRun {
  private static final Duration START_LIMIT = Duration.ofMinutes(1);
  private static final int ANSWER = 2;

  private OverlapRun() {}

  /** Protocol, sender and order of the requests. */
  enum Order {
    MOONCAKE_ROUTED("mooncake through the router: at once"),
    MOONCAKE_AT_ONCE("mooncake by hand: at once"),
    MOONCAKE_IN_TURN("mooncake by hand: one after the other"),
    NIXL_PUSH_ROUTED("nixl, push, through the router: at once"),
    NIXL_ROUTED("nixl, pull, through the router: in turn"),
    MORIIO_WRITE_ROUTED("moriio, WRITE, through the router: at once"),
    MORIIO_READ_ROUTED("moriio, READ, through the router: in turn"),
    SGLANG_ROUTED("sglang through the router: at once");

    private final String label;

    Order(String label) {
      this.label = label;
    }

    String label() {
      return label;
    }

    /** The case to compare with: the same handover with its requests in sequence. */
    Order inTurn() {
      return switch (this) {
        case MOONCAKE_ROUTED, MOONCAKE_AT_ONCE, MOONCAKE_IN_TURN, SGLANG_ROUTED -> MOONCAKE_IN_TURN;
        case NIXL_PUSH_ROUTED, NIXL_ROUTED -> NIXL_ROUTED;
        case MORIIO_WRITE_ROUTED, MORIIO_READ_ROUTED -> MORIIO_READ_ROUTED;
      };
    }
  }

  /**
   * Engines of one protocol, the router in front of them, and the client.
   *
   * @param before prefills before the measurement
   */
  private record Asked(KvConnector connector, PdBenchRig rig, HandClient client, long before)
      implements AutoCloseable {
    /**
     * Starts them and waits until requests are split. Engines may register after they are healthy.
     */
    static Asked of(KvConnector connector, DelayOptions options)
        throws IOException, InterruptedException {
      PdBenchRig rig = started(connector, options);
      try {
        HandClient client = new HandClient(rig, new Random(2));
        awaitSplit(rig, client, options);
        return new Asked(connector, rig, client, rig.prefilled());
      } catch (IOException | RuntimeException e) {
        rig.close();
        throw e;
      }
    }

    Way routed(DelayOptions options) {
      return () -> client.routed(options.prompt(), ANSWER);
    }

    void verify(long expected) {
      long split = rig.prefilled() - before;
      if (split != expected) {
        throw new IllegalStateException(
            connector + ": " + split + " prefills (expected: " + expected + ")");
      }
    }

    @Override
    public void close() throws IOException {
      try {
        client.close();
      } finally {
        rig.close();
      }
    }
  }

  static Map<Order, List<Timed>> of(DelayOptions options) throws IOException, InterruptedException {
    try (Asked mooncake = Asked.of(KvConnector.MOONCAKE, options);
        Asked push = Asked.of(KvConnector.NIXL_PUSH, options);
        Asked pull = Asked.of(KvConnector.NIXL, options);
        Asked write = Asked.of(KvConnector.MORIIO_WRITE, options);
        Asked read = Asked.of(KvConnector.MORIIO_READ, options);
        Asked sglang = Asked.of(KvConnector.SGLANG, options)) {
      int prompt = options.prompt();
      EnumMap<Order, Way> ways = new EnumMap<>(Order.class);
      ways.put(Order.MOONCAKE_ROUTED, mooncake.routed(options));
      ways.put(Order.MOONCAKE_AT_ONCE, () -> mooncake.client().mooncake(prompt, ANSWER, true));
      ways.put(Order.MOONCAKE_IN_TURN, () -> mooncake.client().mooncake(prompt, ANSWER, false));
      ways.put(Order.NIXL_PUSH_ROUTED, push.routed(options));
      ways.put(Order.NIXL_ROUTED, pull.routed(options));
      ways.put(Order.MORIIO_WRITE_ROUTED, write.routed(options));
      ways.put(Order.MORIIO_READ_ROUTED, read.routed(options));
      ways.put(Order.SGLANG_ROUTED, sglang.routed(options));
      Map<Order, List<Timed>> answers = Turns.play(ways, options);
      long each = (long) options.warmup() + options.rounds();
      mooncake.verify(3 * each);
      for (Asked one : List.of(push, pull, write, read, sglang)) {
        one.verify(each);
      }
      return answers;
    }
  }

  private static PdBenchRig started(KvConnector connector, DelayOptions options)
      throws InterruptedException {
    PdBenchRig rig =
        PdBenchRig.start(
            1,
            1,
            connector,
            options.engine(),
            values -> values.set(DisaggKeys.CACHED_SHARE, Rule.NEVER_CACHED));
    if (options.decodeWait() > 0) {
      ScheduledFault wait =
          ScheduledFault.always(new Fault.Hang(options.decodeWait())).on("/v1/completions");
      rig.fleet().decodes().getFirst().failures().add(wait);
    }
    return rig;
  }

  private static void awaitSplit(PdBenchRig rig, HandClient client, DelayOptions options)
      throws InterruptedException {
    long begin = System.nanoTime();
    IOException refused = null;
    while (rig.prefilled() == 0) {
      if (System.nanoTime() - begin > START_LIMIT.toNanos()) {
        throw new IllegalStateException("nothing split within " + START_LIMIT, refused);
      }
      try {
        client.routed(options.prompt(), ANSWER);
      } catch (IOException e) {
        refused = e; // The router returns 503 until engines have registered.
        Thread.sleep(20);
      }
    }
  }
}

package io.pointsman.tool.sim.zmq;

import io.pointsman.tool.sim.cache.OffloadTier;
import io.soabase.recordbuilder.core.RecordBuilder;
import org.jspecify.annotations.Nullable;

/**
 * An engine's options for KV events.
 *
 * @param port of the PUB socket; 0: any free one
 * @param replayPort of the ROUTER socket that repeats batches; -1: none, 0: any free one
 * @param rank the data-parallel rank that it reports, from 0
 * @param topic of its messages; may be empty
 * @param buffered number of batches that can be repeated, at least 1
 * @param offload tier for evicted blocks; null: none
 * @param connect host and port that the PUB socket connects to, as vLLM does with an endpoint
 *     without {@code *}; empty: it binds {@code port}
 */
@RecordBuilder
public record EventOptions(
    EventFormat format,
    int port,
    int replayPort,
    int rank,
    String topic,
    int buffered,
    EventFaults faults,
    @Nullable Offloading offload,
    String connect)
    implements EventOptionsBuilder.With {
  /**
   * A further tier.
   *
   * @param blocks its capacity in blocks, at least 1
   */
  public record Offloading(OffloadTier tier, int blocks) {
    public Offloading {
      if (blocks < 1) {
        throw new IllegalArgumentException(
            "kv-events-offload-blocks: " + blocks + " (expected: at least 1)");
      }
    }
  }

  /** Any free ports, with replay, rank 0, no topic, 10,000 buffered batches, no faults. */
  public static EventOptions of(EventFormat format) {
    return new EventOptions(format, 0, 0, 0, "", 10_000, EventFaults.NONE, null, "");
  }

  public EventOptions {
    if (port < 0 || port > 65_535 || replayPort < -1 || replayPort > 65_535) {
      throw new IllegalArgumentException(
          "kv-events-port, kv-events-replay-port: "
              + port
              + ", "
              + replayPort
              + " (expected: ports)");
    }
    if (!connect.isEmpty() && !connect.matches(".+:[0-9]{1,5}")) {
      throw new IllegalArgumentException(
          "kv-events-connect: " + connect + " (expected: host:port)");
    }
    if (rank < 0 || buffered < 1) {
      throw new IllegalArgumentException(
          "kv-events-rank, kv-events-buffer: "
              + rank
              + ", "
              + buffered
              + " (expected: at least 0, at least 1)");
    }
  }

  /** Returns a copy without a replay socket. */
  public EventOptions withoutReplay() {
    return withReplayPort(-1);
  }

  /** Returns a copy with a further tier of {@code blocks} blocks for evicted blocks. */
  public EventOptions withOffload(OffloadTier tier, int blocks) {
    return withOffload(new Offloading(tier, blocks));
  }
}

package io.pointsman.tool.sim;

import io.pointsman.tool.sim.cache.OffloadTier;
import io.pointsman.tool.sim.zmq.EventFaults;
import io.pointsman.tool.sim.zmq.EventFormat;
import io.pointsman.tool.sim.zmq.EventOptions;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The flags for KV events. */
final class EventFlags {
  @Option(
      names = "--kv-events",
      defaultValue = "off",
      description = "Format of published KV events: off, vllm, vllm-map or sglang.")
  private String format = "";

  @Option(
      names = "--kv-events-port",
      defaultValue = "0",
      description = "Port of the PUB socket. 0: any free port.")
  private int port;

  @Option(
      names = "--kv-events-connect",
      defaultValue = "",
      description =
          "host:port that the PUB socket connects to, as vLLM does with an endpoint without *."
              + " Empty: it binds its port.")
  private String connect = "";

  @Option(
      names = "--kv-events-replay-port",
      defaultValue = "0",
      description = "Port of the replay socket. 0: any free port; -1: none.")
  private int replayPort;

  @Option(
      names = "--kv-events-rank",
      defaultValue = "0",
      description = "Data-parallel rank in the batches.")
  private int rank;

  @Option(names = "--kv-events-topic", defaultValue = "", description = "Topic of the messages.")
  private String topic = "";

  @Option(
      names = "--kv-events-buffer",
      defaultValue = "10000",
      description = "Number of batches kept for replay.")
  private int buffered;

  @Option(
      names = "--kv-events-loss",
      defaultValue = "0",
      description = "Share of batches that are lost, 0 to 1.")
  private double loss;

  @Option(
      names = "--kv-events-delay-ms",
      defaultValue = "0",
      description = "Delay of the batches in milliseconds.")
  private long delayMillis;

  @Option(
      names = "--kv-events-reorder",
      defaultValue = "0",
      description = "Share of batches that swap places with the next one, 0 to 1.")
  private double reorder;

  @Option(
      names = "--kv-events-offload",
      defaultValue = "off",
      description = "Tier for evicted blocks: off, host, disk or external.")
  private String offload = "";

  @Option(
      names = "--kv-events-offload-blocks",
      defaultValue = "100000",
      description = "Capacity of this tier in blocks.")
  private int offloadBlocks;

  /** Returns the options; null if events are off. */
  @Nullable EventOptions options() {
    if (format.equals("off")) {
      refuseWithoutFormat();
      return null;
    }
    return new EventOptions(
        EventFormat.of(format),
        port,
        replayPort,
        rank,
        topic,
        buffered,
        new EventFaults(loss, delayMillis, reorder, 0),
        offload.equals("off")
            ? null
            : new EventOptions.Offloading(OffloadTier.of(offload), offloadBlocks),
        connect);
  }

  private void refuseWithoutFormat() {
    boolean set =
        port != 0
            || replayPort != 0
            || rank != 0
            || !topic.isEmpty()
            || !connect.isEmpty()
            || loss != 0
            || delayMillis != 0
            || reorder != 0
            || !offload.equals("off");
    if (set) {
      throw new IllegalArgumentException("kv-events-...: set without --kv-events (expected: both)");
    }
  }
}

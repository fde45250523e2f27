package io.pointsman.config.key;

import static io.pointsman.config.value.ValueTypes.bytes;
import static io.pointsman.config.value.ValueTypes.constant;
import static io.pointsman.config.value.ValueTypes.duration;
import static io.pointsman.config.value.ValueTypes.integer;
import static io.pointsman.config.value.ValueTypes.text;

import io.pointsman.config.settings.KvEventLimits;
import io.pointsman.config.settings.KvEventSettings;
import io.pointsman.config.settings.KvEventSettings.Mode;
import io.pointsman.config.settings.ZmqAddress;
import io.pointsman.config.value.CheckedText;
import java.time.Duration;
import java.util.List;

/** Keys of subscriptions to the engines' KV events. */
public final class KvEventKeys {
  private static final KvEventSettings DEFAULTS = KvEventSettings.DEFAULTS;
  private static final KvEventLimits LIMITS = KvEventLimits.DEFAULTS;

  public static final Key<Mode> MODE =
      Key.of(
          "kv-events.mode",
          constant(Mode.class),
          DEFAULTS.mode(),
          "Subscribe to the KV cache events that engines publish by ZeroMQ. `auto`: ask each engine"
              + " for its publishers. `static`: use `kv-events.endpoint`.",
          "`off`: caches are estimated from placements and responses. `auto` asks every engine once"
              + " per `kv-events.refresh`. A worker with the label `kv-events` is not asked.");

  public static final Key<String> ENDPOINT =
      Key.of(
          "kv-events.endpoint",
          endpoint(),
          DEFAULTS.endpoint(),
          "static: endpoint where rank 0 of each engine publishes. The host `*` means the worker's"
              + " host; each further rank uses the next port.",
          "Empty: only workers with the label `kv-events` are used. The label contains their"
              + " endpoints, separated by blanks, rank 0 first.");

  public static final Key<String> REPLAY_ENDPOINT =
      Key.of(
          "kv-events.replay-endpoint",
          endpoint(),
          DEFAULTS.replayEndpoint(),
          "static: endpoint where rank 0 of each engine repeats missed batches, in the format of"
              + " `kv-events.endpoint`. The label `kv-events-replay` sets it for a single worker.",
          "Empty: after a missed batch or a lost connection, the router discards the known cache"
              + " content of the worker.");

  public static final Key<String> TOPIC =
      Key.of(
          "kv-events.topic",
          text("<topic>", "a topic, or empty", true),
          DEFAULTS.topic(),
          "static: topic of the messages, as an exact match. vLLM and SGLang use an empty topic by"
              + " default.",
          "Messages with another topic are ignored.");

  public static final Key<Integer> RANKS =
      Key.of(
          "kv-events.ranks",
          integer(1, KvEventSettings.MOST_RANKS),
          DEFAULTS.ranks(),
          "static: number of data-parallel ranks of each engine at `kv-events.endpoint`. A worker"
              + " that is a single rank uses only its own.",
          "If the value is too low, some ranks are ignored. If it is too high, some publishers"
              + " never connect, and those engines' caches are estimated from placements.");

  public static final Key<Duration> REFRESH =
      Key.of(
          "kv-events.refresh",
          duration(Duration.ofMillis(100), Duration.ofHours(1)),
          DEFAULTS.refresh(),
          "Interval at which engines are asked for their publishers. The interval is 3 s while an"
              + " engine does not answer.",
          "Each check costs an engine up to two requests. With a high value, the router is late to"
              + " find an engine that restarted on other ports.");

  public static final Key<Long> MAX_MESSAGE =
      Key.of(
          "kv-events.max-message-bytes",
          bytes(1024, KvEventLimits.MOST_MESSAGE_BYTES),
          (long) LIMITS.messageBytes(),
          "Maximum size of a message. Larger messages are skipped and count as missed.",
          "Each publisher can use this much memory, and four times as much while a message is"
              + " read.");

  public static final Key<Integer> MAX_EVENTS =
      Key.of(
          "kv-events.max-batch-events",
          integer(1, 1 << 20),
          LIMITS.batchEvents(),
          "Maximum number of events in one batch. Batches with more are refused and count as"
              + " missed.",
          "Engines with one token per block send one event per token. For them, set it to the token"
              + " count of the longest prompt.");

  public static final Key<Duration> REPLAY_TIMEOUT =
      Key.of(
          "kv-events.replay-timeout",
          duration(Duration.ofMillis(100), Duration.ofMinutes(5)),
          LIMITS.replayPatience(),
          "Maximum silence of a publisher before it repeats the first batch. Later, 1 s of silence"
              + " leads to another request. The whole replay can take ten times as long.",
          "A low value abandons replays that would succeed. With a high value, the cache content"
              + " stays unknown for longer.");

  private KvEventKeys() {}

  private static CheckedText endpoint() {
    return new CheckedText(
        "<tcp://host:port>",
        "tcp://host:port, where * is the worker's host; or empty",
        ZmqAddress::isOne);
  }

  static List<Key<?>> all() {
    return List.of(
        MODE,
        ENDPOINT,
        REPLAY_ENDPOINT,
        TOPIC,
        RANKS,
        REFRESH,
        MAX_MESSAGE,
        MAX_EVENTS,
        REPLAY_TIMEOUT);
  }
}

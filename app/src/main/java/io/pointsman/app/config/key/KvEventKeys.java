package io.pointsman.app.config.key;

import static io.pointsman.app.config.value.ValueTypes.bytes;
import static io.pointsman.app.config.value.ValueTypes.constant;
import static io.pointsman.app.config.value.ValueTypes.duration;
import static io.pointsman.app.config.value.ValueTypes.integer;
import static io.pointsman.app.config.value.ValueTypes.text;

import io.pointsman.app.config.value.CheckedText;
import io.pointsman.app.kvevents.KvEventLimits;
import io.pointsman.app.kvevents.KvEventSettings;
import io.pointsman.app.kvevents.KvEventSettings.Mode;
import io.pointsman.app.kvevents.SourceSpec;
import io.pointsman.app.kvevents.wire.Endpoint;
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
          "Whether the router hears by ZeroMQ what engines store in their KV caches, and how it"
              + " finds their publishers: auto asks each engine, static is told.",
          "off knows caches from placements and answers only; auto asks every engine once in"
              + " kv-events.refresh. A worker with a label kv-events needs no asking.");

  public static final Key<String> ENDPOINT =
      Key.of(
          "kv-events.endpoint",
          endpoint(),
          DEFAULTS.endpoint(),
          "static: where rank 0 of each engine publishes; the host * is the worker's, each further"
              + " rank has the next port.",
          "Empty hears only workers with a label kv-events: their endpoints, separated by blanks,"
              + " the first for rank 0.");

  public static final Key<String> REPLAY_ENDPOINT =
      Key.of(
          "kv-events.replay-endpoint",
          endpoint(),
          DEFAULTS.replayEndpoint(),
          "static: where rank 0 of each engine repeats batches that were missed, likewise; the"
              + " label is kv-events-replay.",
          "Without one, a batch that is missed or a connection that breaks costs all that is known"
              + " of a cache.");

  public static final Key<String> TOPIC =
      Key.of(
          "kv-events.topic",
          text("<topic>", "a topic, or nothing", true),
          DEFAULTS.topic(),
          "static: the topic of messages, exactly; vLLM and SGLang have none unless told.",
          "Messages of any other topic are not heard.");

  public static final Key<Integer> RANKS =
      Key.of(
          "kv-events.ranks",
          integer(1, SourceSpec.MOST_RANKS),
          DEFAULTS.ranks(),
          "static: data-parallel ranks of each engine at kv-events.endpoint; a worker that is a"
              + " rank itself has but its own.",
          "Too few leaves ranks unheard; too many keeps connecting to ports where nobody is, and"
              + " leaves engines known by placements.");

  public static final Key<Duration> REFRESH =
      Key.of(
          "kv-events.refresh",
          duration(Duration.ofMillis(100), Duration.ofHours(1)),
          DEFAULTS.refresh(),
          "How often engines are asked where they publish; every 3 s while they do not answer.",
          "Short costs engines two requests each time; long hears late of an engine that has come"
              + " back at other ports.");

  public static final Key<Long> MAX_MESSAGE =
      Key.of(
          "kv-events.max-message-bytes",
          bytes(1024, KvEventLimits.MOST_MESSAGE_BYTES),
          (long) LIMITS.messageBytes(),
          "Largest message of a publisher; a larger one is passed over and counts as missed.",
          "The most that a source can make the router hold at once, and four times that while it"
              + " is read.");

  public static final Key<Integer> MAX_EVENTS =
      Key.of(
          "kv-events.max-batch-events",
          integer(1, 1 << 20),
          LIMITS.batchEvents(),
          "Most events of one batch; one with more is refused and counts as missed.",
          "Engines with one token per block announce each by an event of its own: as many as the"
              + " longest prompt has tokens.");

  public static final Key<Duration> REPLAY_PATIENCE =
      Key.of(
          "kv-events.replay-patience",
          duration(Duration.ofMillis(100), Duration.ofMinutes(5)),
          LIMITS.replayPatience(),
          "How long a publisher may be silent while it repeats batches; all of it may take ten"
              + " times as long.",
          "Short gives up what could be had; long keeps a cache unknown for as long.");

  private KvEventKeys() {}

  private static CheckedText endpoint() {
    return new CheckedText(
        "<tcp://host:port>",
        "tcp://host:port, where * is the worker's host; or nothing",
        Endpoint::isOne);
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
        REPLAY_PATIENCE);
  }
}

package io.pointsman.server.wiring;

import io.pointsman.config.settings.KvEventSettings;
import io.pointsman.config.settings.KvEventSettings.Mode;
import io.pointsman.control.health.EngineClient;
import io.pointsman.control.kvevents.KvEventTally;
import io.pointsman.control.kvevents.KvEvents;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.kv.KvFeed;
import java.time.InstantSource;
import java.util.function.BiConsumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Subscriptions to KV events, which may begin, change and end at run time. Separate from the
 * router's assembly; a router without subscriptions then loads none of their classes. Thread-safe.
 */
final class KvSubscriptions implements AutoCloseable {
  private final Fleet fleet;
  private final KvFeed feed;
  private final EngineClient client;
  private final Predicate<String> hosts;
  private final Ticker ticker;
  private final BiConsumer<KvEvents, KvEventTally> measure;

  /** Null before the first use of events. Guarded by this. */
  private @Nullable KvEvents events;

  /**
   * @param feed receives the events
   * @param hosts hosts of publishers that an engine may name beside its own; may change
   * @param measure receives the metrics before the first subscription
   */
  KvSubscriptions(
      Fleet fleet,
      KvFeed feed,
      EngineClient client,
      Predicate<String> hosts,
      Ticker ticker,
      BiConsumer<KvEvents, KvEventTally> measure) {
    this.fleet = fleet;
    this.feed = feed;
    this.client = client;
    this.hosts = hosts;
    this.ticker = ticker;
    this.measure = measure;
  }

  /** Uses these settings from here on; {@code OFF} ends all subscriptions. */
  synchronized void use(KvEventSettings settings) {
    KvEvents present = events;
    if (present == null) {
      if (settings.mode() == Mode.OFF) {
        return;
      }
      present = made(settings);
    }
    present.use(settings);
    present.start();
  }

  /** Keeps it before anything can fail, because its metrics can be registered only once. */
  private KvEvents made(KvEventSettings settings) {
    KvEventTally tally = new KvEventTally();
    KvEvents made =
        new KvEvents(
            settings,
            fleet,
            feed,
            (worker, url, patience) -> client.send(worker, "GET", url, patience),
            hosts,
            tally,
            ticker,
            InstantSource.system());
    events = made;
    measure.accept(made, tally);
    return made;
  }

  @Override
  public synchronized void close() {
    KvEvents last = events;
    if (last != null) {
      last.close();
    }
  }
}

package io.pointsman.server.wiring;

import io.pointsman.config.settings.KvEventSettings;
import io.pointsman.control.health.EngineClient;
import io.pointsman.control.kvevents.KvEventTally;
import io.pointsman.control.kvevents.KvEvents;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.kv.KvFeed;
import java.time.InstantSource;
import java.util.function.BiConsumer;
import java.util.function.Predicate;

/**
 * Starts subscriptions to KV events. Separate from the router's assembly; a router without
 * subscriptions then loads no ZeroMQ classes.
 */
final class KvSubscriptions {
  private KvSubscriptions() {}

  /**
   * Starts the subscriptions.
   *
   * @param feed receives the events
   * @param hosts hosts of publishers that an engine may name beside its own; may change
   * @param measure receives the metrics before the start
   */
  static AutoCloseable start(
      KvEventSettings settings,
      Fleet fleet,
      KvFeed feed,
      EngineClient client,
      Predicate<String> hosts,
      Ticker ticker,
      BiConsumer<KvEvents, KvEventTally> measure) {
    KvEventTally tally = new KvEventTally();
    KvEvents events =
        new KvEvents(
            settings,
            fleet,
            feed,
            (worker, url, patience) -> client.send(worker, "GET", url, patience),
            hosts,
            tally,
            ticker,
            InstantSource.system());
    measure.accept(events, tally);
    return events.start();
  }
}

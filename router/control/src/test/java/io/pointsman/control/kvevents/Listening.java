package io.pointsman.control.kvevents;

import io.pointsman.config.settings.KvEventLimits;
import io.pointsman.config.settings.KvEventSettings;
import io.pointsman.config.settings.KvEventSettings.Mode;
import io.pointsman.control.env.SystemTicker;
import io.pointsman.control.health.EngineClient;
import io.pointsman.control.kvevents.KvEventTally.Count;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.testkit.Await;
import io.pointsman.tool.sim.SimEngine;
import io.pointsman.tool.sim.zmq.EventPublisher;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;

/** A fleet with subscriptions to KV events, over sockets. */
final class Listening implements AutoCloseable {
  static final KvEventLimits LIMITS = new KvEventLimits(1 << 20, 4096, Duration.ofSeconds(20));

  final RecordingFeed feed = new RecordingFeed();
  final KvEventTally tally = new KvEventTally();
  final Fleet fleet = new Fleet(FleetSettings.DEFAULTS, new SystemTicker());
  final KvEvents events;
  private final List<String> asked = new CopyOnWriteArrayList<>();
  private final AtomicBoolean broken = new AtomicBoolean();

  Listening(KvEventSettings settings) {
    EngineClient client = new EngineClient("", new SystemTicker());
    events =
        new KvEvents(
                settings,
                fleet,
                feed,
                (role, url, patience) -> {
                  asked.add(url);
                  return client.send(role, "GET", url, patience);
                },
                _ -> false,
                tally,
                new SystemTicker(),
                this::instant)
            .start();
  }

  private Instant instant() {
    if (broken.getAndSet(false)) {
      throw new IllegalStateException("planted");
    }
    return InstantSource.system().instant();
  }

  /** Waits until the publishers reported by an engine are followed. */
  void awaitAsked(SimEngine engine) {
    String url = engine.url() + "/kv_event_sources";
    Await.until(
        url + " asked again", () -> asked.stream().filter(each -> each.equals(url)).count() >= 2);
  }

  /** Waits until each engine is asked once more. */
  void awaitAskedAgain() {
    int before = asked.size();
    Await.until("asked again", () -> asked.size() > before);
  }

  /** Makes the router fail on the next batch. */
  void breakOnce() {
    broken.set(true);
  }

  /** Finds publishers only by worker labels. */
  static Listening byLabels() {
    return new Listening(settings(Mode.STATIC, ""));
  }

  /** Finds publishers by queries to engines. */
  static Listening byAsking() {
    return new Listening(settings(Mode.AUTO, ""));
  }

  static KvEventSettings settings(Mode mode, String topic) {
    return new KvEventSettings(mode, "", "", topic, 1, Duration.ofMillis(200), LIMITS);
  }

  /** Adds a worker at {@code url} with labels. */
  Worker add(String url, Map<String, String> labels) {
    Worker worker = fleet.add(WorkerSpec.of(url).withLabels(labels));
    worker.probed(true);
    return worker;
  }

  /** Adds a worker with the given event port and replay port. */
  Worker add(int port, int replayPort) {
    String events = "tcp://127.0.0.1:" + port;
    return add(
        "http://127.0.0.1:" + (1 + fleet.snapshot().workers().size()),
        replayPort < 0
            ? Map.of(KvEventSettings.EVENTS_LABEL, events)
            : Map.of(
                KvEventSettings.EVENTS_LABEL,
                events,
                KvEventSettings.REPLAY_LABEL,
                "tcp://127.0.0.1:" + replayPort));
  }

  void awaitBlocks(Worker worker, Set<Long> blocks) {
    Await.until(
        () -> blocks + " of " + worker + ", not " + feed.blocks(worker, 0),
        () -> feed.blocks(worker, 0).equals(blocks));
  }

  /** Waits until the known blocks of a rank equal those of its idle engine. */
  void awaitStored(Worker worker, int rank, SimEngine engine) {
    Await.until(
        () -> engine.state().kv().idle() + " blocks, not " + feed.blocks(worker, rank).size(),
        () ->
            feed.batches(worker, rank) == engine.events().batches()
                && feed.blocks(worker, rank).size() == engine.state().kv().idle());
  }

  void awaitLive(Worker worker) {
    Await.until(worker + " complete", () -> feed.live(worker, 0));
  }

  /**
   * Waits until a source is complete and its publisher has read the subscription. A source is
   * complete before that, and the publisher sends no batch of the meantime.
   */
  void awaitLive(Worker worker, EventPublisher publisher) {
    awaitLive(worker);
    Await.until("a subscriber", () -> publisher.subscribers() > 0);
  }

  void await(Count what, long least) {
    Await.until(
        () -> least + " of " + what + ", not " + tally.of(what), () -> tally.of(what) >= least);
  }

  @Override
  public void close() {
    events.close();
  }
}

package io.pointsman.control.kvevents;

import io.pointsman.config.settings.KvEventSettings;
import io.pointsman.config.settings.KvEventSettings.Mode;
import io.pointsman.config.settings.ZmqAddress;
import io.pointsman.control.health.EngineClient;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.pd.peer.Address;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.IntStream;

/**
 * Finds the publishers of a worker's engine, from the worker's labels, the configuration or the
 * engine itself. Engines are queried with {@code GET /kv_event_sources}. Otherwise {@code
 * kv_events_config} is read from {@code GET /server_info?config_format=json}, which older SGLang
 * versions call {@code /get_server_info}. Blocks.
 */
final class SourceFinder {
  private static final Duration PATIENCE = Duration.ofSeconds(5);

  /** Statuses for an unknown path; any other failure may be temporary. */
  private static final Set<Integer> UNKNOWN_PATH = Set.of(404, 405, 501);

  private final KvEventSettings settings;
  private final Question question;
  private final Predicate<String> hosts;

  /** A blocking query to an engine. */
  @FunctionalInterface
  interface Question {
    /**
     * @param worker the worker, which may have its own key
     * @throws IOException if there is no response in time
     */
    EngineClient.Answer ask(WorkerSpec worker, String url, Duration patience) throws IOException;
  }

  /**
   * @param hosts hosts of publishers that an engine may name beside its own
   */
  SourceFinder(KvEventSettings settings, Question question, Predicate<String> hosts) {
    this.settings = settings;
    this.question = question;
    this.hosts = hosts;
  }

  /**
   * The sources of a worker; empty if its engine does not publish.
   *
   * @throws IOException if they cannot be determined or are unusable; the message contains the
   *     reason
   */
  List<SourceSpec> find(Worker worker) throws IOException {
    List<SourceSpec> all = sources(worker);
    String host = Address.host(worker);
    int rank = worker.spec().rank();
    Predicate<SourceSpec> own = source -> rank == WorkerSpec.NO_RANK || source.rank() == rank;
    return all.stream().filter(own).map(source -> source.at(host)).toList();
  }

  private List<SourceSpec> sources(Worker worker) throws IOException {
    if (worker.spec().labels().containsKey(KvEventSettings.EVENTS_LABEL)) {
      return labelled(worker.spec());
    }
    if (settings.mode() == Mode.STATIC) {
      return configured(worker);
    }
    EngineClient.Answer answer = ask(worker, "/kv_event_sources");
    if (answer.good()) {
      return admitted(worker, SourcesAnswer.sources(answer.body()));
    }
    if (answer.status() == 401 || answer.status() == 403 || answer.status() >= 500) {
      throw new IOException("GET /kv_event_sources: status " + answer.status());
    }
    for (String path : List.of("/server_info?config_format=json", "/get_server_info")) {
      EngineClient.Answer config = ask(worker, path);
      if (config.good()) {
        return admitted(worker, SourcesAnswer.configured(config.body()));
      }
      if (!UNKNOWN_PATH.contains(config.status())) {
        throw new IOException("GET " + path + ": status " + config.status());
      }
    }
    return List.of();
  }

  /** An engine must not make the router connect to any address. */
  private List<SourceSpec> admitted(Worker worker, List<SourceSpec> sources) throws IOException {
    String own = Address.host(worker);
    for (SourceSpec source : sources) {
      ZmqAddress replay = source.replay();
      for (ZmqAddress named :
          replay == null ? List.of(source.events()) : List.of(source.events(), replay)) {
        String host = named.at(own).host();
        if (!host.equalsIgnoreCase(own) && !hosts.test(host)) {
          throw new IOException(
              "the engine names "
                  + host
                  + " as the host of its events (expected: its own, "
                  + own
                  + ", or one of admin.worker-networks)");
        }
      }
    }
    return sources;
  }

  private EngineClient.Answer ask(Worker worker, String path) throws IOException {
    try {
      return question.ask(worker.spec(), worker.spec().base() + path, PATIENCE);
    } catch (IllegalArgumentException e) {
      throw new IOException(e);
    }
  }

  private List<SourceSpec> labelled(WorkerSpec worker) throws IOException {
    String events = worker.labels().getOrDefault(KvEventSettings.EVENTS_LABEL, "");
    String replays = worker.labels().get(KvEventSettings.REPLAY_LABEL);
    try {
      List<ZmqAddress> publishers = endpoints(events);
      List<ZmqAddress> again = replays == null ? List.of() : endpoints(replays);
      if (!again.isEmpty() && again.size() != publishers.size()) {
        throw new IOException(
            KvEventSettings.REPLAY_LABEL
                + " (expected: as many as "
                + KvEventSettings.EVENTS_LABEL
                + ")");
      }
      boolean alone = publishers.size() == 1 && worker.rank() == WorkerSpec.NO_RANK;
      List<SourceSpec> sources = new ArrayList<>();
      for (int i = 0; i < publishers.size(); i++) {
        ZmqAddress replay = again.isEmpty() ? null : again.get(i);
        sources.add(new SourceSpec(i, alone, publishers.get(i), replay, settings.topic()));
      }
      return sources;
    } catch (IllegalArgumentException e) {
      throw new IOException("labels: " + e.getMessage(), e);
    }
  }

  private static List<ZmqAddress> endpoints(String text) {
    List<ZmqAddress> endpoints = new ArrayList<>();
    for (String each : text.strip().split("\\s+", -1)) {
      endpoints.add(ZmqAddress.of(each));
    }
    return endpoints;
  }

  private List<SourceSpec> configured(Worker worker) {
    if (settings.endpoint().isEmpty()) {
      return List.of();
    }
    ZmqAddress events = ZmqAddress.of(settings.endpoint());
    ZmqAddress replay =
        settings.replayEndpoint().isEmpty() ? null : ZmqAddress.of(settings.replayEndpoint());
    int rank = worker.spec().rank();
    IntStream ranks =
        rank == WorkerSpec.NO_RANK ? IntStream.range(0, settings.ranks()) : IntStream.of(rank);
    return ranks
        .mapToObj(
            each ->
                new SourceSpec(
                    each,
                    events.ofRank(each),
                    replay == null ? null : replay.ofRank(each),
                    settings.topic()))
        .toList();
  }
}

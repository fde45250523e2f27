package io.pointsman.control.kvevents;

import io.pointsman.config.settings.KvEventSettings;
import io.pointsman.control.health.EngineClient;
import io.pointsman.control.health.Rounds;
import io.pointsman.engine.env.LogText;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.engine.kv.KvFeed;
import java.io.IOException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Subscribes to the KV events of all present and future workers of a fleet and passes them to a
 * feed. Finds the publishers of each engine again at intervals, and changes the subscriptions
 * accordingly. The settings may change; sources that they find again stay open. One thread polls
 * the fleet; each query and each source has its own virtual thread.
 */
public final class KvEvents implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(KvEvents.class);

  static final Duration RETRY = Duration.ofSeconds(3);
  private static final Duration LOOK = Duration.ofMillis(100);
  private static final int MOST_AT_ONCE = 32;

  /** After this many consecutive failures, the sources found earlier are closed. */
  private static final int MOST_FAILURES = 3;

  /** A blocking query to an engine. */
  @FunctionalInterface
  public interface Question {
    /**
     * The response to a GET.
     *
     * @param worker the worker, which may have its own key
     * @throws IOException if there is no response in time
     */
    EngineClient.Answer ask(WorkerSpec worker, String url, Duration patience) throws IOException;
  }

  /** Actions for one worker. */
  private static final class Watch {
    private final KvOutlet outlet;

    /** {@link Worker#returns} of the worker while it is followed. */
    private final int returns;

    private volatile boolean asking;
    private volatile long dueAt;
    private volatile @Nullable List<SourceSpec> found;

    /** Guarded by the outer object. */
    private int failures;

    /** True if the absence of publishers was logged. Guarded by the outer object. */
    private boolean reportedNone;

    /** Written by the polling thread. */
    private volatile List<KvSource> sources = List.of();

    Watch(Worker worker, KvFeed feed, long now) {
      outlet = new KvOutlet(worker, feed);
      returns = worker.returns();
      dueAt = now;
    }
  }

  private final Fleet fleet;
  private final KvFeed feed;
  private final Question question;
  private final Predicate<String> hosts;
  private final KvSource.Shared shared;
  private final Ticker ticker;
  private final Semaphore places = new Semaphore(MOST_AT_ONCE);
  private final Map<Worker, Watch> watches = new ConcurrentHashMap<>();

  /** Replaced as a whole, with the lock. */
  private volatile Rules rules;

  private @Nullable Rounds rounds;
  private boolean closed;

  /**
   * Does nothing before {@link #start}.
   *
   * @param hosts hosts of publishers that an engine may name beside its own
   * @param clock clock for comparison with the engines' clocks
   */
  public KvEvents(
      KvEventSettings settings,
      Fleet fleet,
      KvFeed feed,
      Question question,
      Predicate<String> hosts,
      KvEventTally tally,
      Ticker ticker,
      InstantSource clock) {
    this.fleet = fleet;
    this.feed = feed;
    this.ticker = ticker;
    this.question = question;
    this.hosts = hosts;
    rules = new Rules(settings, new SourceFinder(settings, question::ask, hosts));
    shared =
        new KvSource.Shared(
            () -> rules.settings.limits(),
            tally,
            ticker,
            clock,
            Replay.readAhead(Runtime.getRuntime().maxMemory()));
  }

  /** Starts polling, unless it has started. */
  public synchronized KvEvents start() {
    if (rounds == null) {
      rounds = Rounds.start("kv-events", LOOK, this::look);
    }
    return this;
  }

  /** The settings in force, with their finder. */
  private static final class Rules {
    private final KvEventSettings settings;
    private final SourceFinder finder;

    Rules(KvEventSettings settings, SourceFinder finder) {
      this.settings = settings;
      this.finder = finder;
    }
  }

  /**
   * Uses other settings. Each engine is asked at once by them; sources that stay the same stay
   * open. {@code OFF} ends all sources. A limit on messages applies to later connections.
   */
  public synchronized void use(KvEventSettings next) {
    if (next.equals(rules.settings)) {
      return;
    }
    rules = new Rules(next, new SourceFinder(next, question::ask, hosts));
    if (next.mode() == KvEventSettings.Mode.OFF) {
      leaveAll();
    }
    long now = ticker.nanos();
    for (Watch watch : watches.values()) {
      // An empty list is the end of the sources of a failed engine. It is applied later.
      List<SourceSpec> found = watch.found;
      if (found != null && !found.isEmpty()) {
        watch.found = null;
      }
      watch.failures = 0;
      watch.reportedNone = false;
      watch.dueAt = now;
    }
  }

  /** Polls the fleet once. */
  synchronized void look() {
    if (closed || rules.settings.mode() == KvEventSettings.Mode.OFF) {
      return;
    }
    long now = ticker.nanos();
    List<Worker> workers = fleet.snapshot().workers();
    leave(workers);
    for (Worker worker : workers) {
      Watch known = watches.get(worker);
      // The feed has forgotten a worker that has left, also if it has come back.
      closeIf(known != null && known.returns != worker.returns(), worker, known);
      Watch watch = watches.computeIfAbsent(worker, _ -> new Watch(worker, feed, now));
      List<SourceSpec> found = watch.found;
      if (found != null) {
        watch.found = null;
        follow(watch, found);
      }
      boolean due = !watch.asking && now - watch.dueAt >= 0;
      if (due && worker.health().healthy() && places.tryAcquire()) {
        watch.asking = true;
        Thread.ofVirtual().name("kv-events-of-" + worker).start(() -> ask(worker, watch));
      }
    }
  }

  private void leave(List<Worker> workers) {
    if (watches.keySet().stream().anyMatch(Worker::left)) {
      Set<Worker> here = Set.copyOf(workers);
      watches.forEach((worker, watch) -> closeIf(!here.contains(worker), worker, watch));
    }
  }

  private void closeIf(boolean gone, Worker worker, @Nullable Watch watch) {
    if (gone && watch != null) {
      watches.remove(worker);
      watch.sources.forEach(KvSource::close);
    }
  }

  /** Applies new specs and keeps the sources that have not changed. */
  private void follow(Watch watch, List<SourceSpec> specs) {
    Map<SourceSpec, KvSource> before = new HashMap<>();
    watch.sources.forEach(source -> before.put(source.spec(), source));
    List<KvSource> sources = new ArrayList<>();
    List<SourceSpec> fresh = new ArrayList<>();
    for (SourceSpec spec : specs) {
      KvSource kept = before.remove(spec);
      if (kept == null) {
        fresh.add(spec);
      } else {
        sources.add(kept);
      }
    }
    // The old source of a rank must report its end before the new source starts.
    before.values().forEach(KvSource::close);
    for (SourceSpec spec : fresh) {
      log.info("KV events of {}, rank {}: {}", watch.outlet.worker(), spec.rank(), spec.events());
      sources.add(new KvSource(spec, watch.outlet, shared).start());
    }
    watch.sources = List.copyOf(sources);
  }

  private void ask(Worker worker, Watch watch) {
    Rules by = rules;
    try {
      found(worker, watch, by, by.finder.find(worker));
    } catch (IOException | RuntimeException e) {
      failed(worker, watch, by, e);
    } finally {
      watch.asking = false;
      places.release();
    }
  }

  /** Records sources, unless the settings have changed since the question; it is then repeated. */
  private synchronized void found(Worker worker, Watch watch, Rules by, List<SourceSpec> specs) {
    if (by == rules) {
      sayIfNone(worker, watch, specs.isEmpty());
      watch.found = specs;
      watch.failures = 0;
      watch.dueAt = ticker.nanos() + by.settings.refresh().toNanos();
    }
  }

  private synchronized void failed(Worker worker, Watch watch, Rules by, Exception failure) {
    if (by == rules) {
      int failures = watch.failures + 1;
      watch.failures = failures;
      watch.dueAt = ticker.nanos() + RETRY.toNanos();
      if (failures == MOST_FAILURES) {
        watch.found = List.of();
        log.warn(
            "KV events of {}: no publishers found, asking again: {}", worker, LogText.of(failure));
      }
    }
  }

  /**
   * Logs once that an engine has no publishers. Such an engine works normally, but the operator
   * probably expects events.
   */
  private void sayIfNone(Worker worker, Watch watch, boolean none) {
    if (none && !watch.reportedNone && rules.settings.mode() == KvEventSettings.Mode.AUTO) {
      log.warn("KV events of {}: the engine reports no publishers", worker);
    }
    watch.reportedNone = none;
  }

  /** Receives the state of one worker's sources. */
  @FunctionalInterface
  public interface Reading {
    /**
     * @param worker id of the worker
     * @param sources number of sources, at least one
     * @param live number of sources with complete state
     * @param lagSeconds maximum age of the last batches on arrival
     */
    void read(String worker, int sources, int live, double lagSeconds);
  }

  /** Reports all workers with sources. Thread-safe. */
  public void read(Reading reading) {
    watches.forEach(
        (worker, watch) -> {
          List<KvSource> sources = watch.sources;
          if (!sources.isEmpty()) {
            reading.read(
                worker.id(),
                sources.size(),
                (int) sources.stream().filter(KvSource::isLive).count(),
                sources.stream().mapToDouble(KvSource::lagSeconds).max().orElse(0));
          }
        });
  }

  /** Closes all sources. */
  @Override
  public synchronized void close() {
    closed = true;
    Rounds begun = rounds;
    if (begun != null) {
      begun.close();
    }
    leaveAll();
  }

  private void leaveAll() {
    watches.values().forEach(watch -> watch.sources.forEach(KvSource::close));
    watches.clear();
  }
}

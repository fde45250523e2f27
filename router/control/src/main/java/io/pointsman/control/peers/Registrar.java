package io.pointsman.control.peers;

import io.pointsman.control.names.WorkerOrigins;
import io.pointsman.engine.env.LogText;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.pd.peer.Peer;
import io.pointsman.pd.peer.PeerTable;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps registered engines in the fleet while they repeat their registrations. Removes only workers
 * that it has added. An engine that is already a worker is not added again, but its transfer data
 * is stored. Time without a listener does not expire registrations. Thread-safe.
 */
final class Registrar {
  private static final Logger log = LoggerFactory.getLogger(Registrar.class);

  /**
   * A registration without repetition for this time expires; engines repeat it every few seconds.
   */
  static final Duration LIFETIME = Duration.ofSeconds(5);

  /** Longer gaps between calls of {@link #look} mean that the whole process was paused. */
  private static final long HICCUP = Duration.ofSeconds(1).toNanos();

  private final Fleet fleet;
  private final PeerTable peers;
  private final int most;
  private final Ticker ticker;
  private final WorkerOrigins origins;
  private final Map<String, Entry> entries = new LinkedHashMap<>();
  private long lookedAt;
  private boolean full;
  private boolean refused;

  /** A registered engine. */
  private static final class Entry {
    private Announcement announcement;
    private long receivedAt;

    /** True while it has not registered at a new address of the router. */
    private boolean awaited;

    /** The engine's workers by id; null for workers added by others. */
    private final Map<String, @Nullable Worker> workers = new LinkedHashMap<>();

    Entry(Announcement announcement) {
      this.announcement = announcement;
    }
  }

  /**
   * @param most maximum number of registered engines
   */
  Registrar(Fleet fleet, PeerTable peers, int most, Ticker ticker) {
    this(fleet, peers, most, ticker, WorkerOrigins.ANY);
  }

  /**
   * @param most maximum number of registered engines
   * @param origins addresses that engines may have
   */
  Registrar(Fleet fleet, PeerTable peers, int most, Ticker ticker, WorkerOrigins origins) {
    this.origins = origins;
    this.fleet = fleet;
    this.peers = peers;
    this.most = most;
    this.ticker = ticker;
    lookedAt = ticker.nanos();
  }

  /** Processes a registration. */
  synchronized void received(Announcement announcement) {
    Entry entry = entries.get(announcement.httpAddress());
    if (entry != null && !entry.announcement.sameWorkers(announcement)) {
      log.info("engine {} registers with other properties than before", announcement.httpAddress());
      forget(entry);
      entries.remove(announcement.httpAddress());
      entry = null;
    }
    String refusal = entry == null ? refusal(announcement) : null;
    if (refusal != null) {
      if (!refused) {
        refused = true;
        log.warn("an engine is not added, logged once: {}", refusal);
      }
      return;
    }
    if (entry == null) {
      entry = entries.size() < most ? new Entry(announcement) : null;
      if (entry == null || !join(entry)) {
        complain(announcement);
        return;
      }
      full = false;
      entries.put(announcement.httpAddress(), entry);
      log.info(
          "engine {} has registered: {}",
          announcement.httpAddress(),
          LogText.of(announcement.toString()));
    } else if (!entry.announcement.equals(announcement)
        || othersHaveLeft(entry)
        || unknown(entry)) {
      entry.announcement = announcement;
      if (!join(entry)) {
        entries.remove(announcement.httpAddress());
        complain(announcement);
        return;
      }
    }
    entry.receivedAt = ticker.nanos();
    entry.awaited = false;
  }

  private @Nullable String refusal(Announcement announcement) {
    return announcement.workers().stream()
        .map(spec -> origins.refusal(spec.url()))
        .filter(Objects::nonNull)
        .findFirst()
        .orElse(null);
  }

  private void complain(Announcement announcement) {
    if (!full) {
      full = true;
      log.warn(
          "engine {} is not added: {} engines registered, {} workers in the fleet (expected: fewer,"
              + " max-workers)",
          announcement.httpAddress(),
          entries.size(),
          fleet.snapshot().workers().size());
    }
  }

  /** True if a worker that others had added has left. */
  private boolean othersHaveLeft(Entry entry) {
    for (Map.Entry<String, @Nullable Worker> each : entry.workers.entrySet()) {
      if (each.getValue() == null && fleet.snapshot().worker(each.getKey()) == null) {
        return true;
      }
    }
    return false;
  }

  /**
   * True if the transfer data of one of the workers is missing: a removal and re-addition by others
   * discards it.
   */
  private boolean unknown(Entry entry) {
    for (String id : entry.workers.keySet()) {
      Worker worker = fleet.snapshot().worker(id);
      Peer known = worker == null ? null : peers.of(worker);
      if (known != null && !entry.announcement.merged(known).equals(known)) {
        return true;
      }
    }
    return false;
  }

  /**
   * Adds the engine's missing workers and stores its transfer data.
   *
   * @return true if there is room for all of them
   */
  private boolean join(Entry entry) {
    List<WorkerSpec> missing = new ArrayList<>();
    Map<String, @Nullable Worker> before = new LinkedHashMap<>(entry.workers);
    entry.workers.clear();
    for (WorkerSpec spec : entry.announcement.workers()) {
      Worker own = before.get(spec.id());
      Worker present = own == null ? fleet.snapshot().sameEngine(spec) : own;
      String id = present == null ? spec.id() : present.id();
      if (!peers.update(id, entry.announcement::merged)) {
        forget(entry);
        return false;
      }
      entry.workers.put(id, own);
      if (present == null) {
        missing.add(spec);
      }
    }
    return add(entry, missing);
  }

  private boolean add(Entry entry, List<WorkerSpec> missing) {
    try {
      for (WorkerSpec spec : missing) {
        entry.workers.put(spec.id(), fleet.add(origins.restricted(spec)));
      }
      return true;
    } catch (IllegalStateException _) {
      missing.forEach(spec -> peers.remove(spec.id()));
      forget(entry);
      return false;
    }
  }

  /** Removes engines with expired registrations; to be called frequently. */
  synchronized void look() {
    long now = ticker.nanos();
    long paused = now - lookedAt > HICCUP ? now - lookedAt : 0;
    lookedAt = now;
    Iterator<Entry> all = entries.values().iterator();
    while (all.hasNext()) {
      Entry entry = all.next();
      entry.receivedAt += paused;
      if (!entry.awaited && now - entry.receivedAt > LIFETIME.toNanos()) {
        all.remove();
        forget(entry);
        log.info(
            "engine {} stopped sending registrations and was removed",
            entry.announcement.httpAddress());
      }
    }
  }

  /** Keeps each registered engine until it registers at a new address of the router. */
  synchronized void awaitAll() {
    entries.values().forEach(entry -> entry.awaited = true);
  }

  private void forget(Entry entry) {
    entry.workers.forEach(
        (id, worker) -> {
          if (worker != null && fleet.remove(worker)) {
            peers.remove(id);
          }
        });
    entry.workers.clear();
  }

  /** Number of registered engines. */
  synchronized int size() {
    return entries.size();
  }
}

package io.pointsman.control.peers;

import io.pointsman.control.health.Rounds;
import io.pointsman.engine.env.LogText;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.pd.peer.Address;
import io.pointsman.pd.peer.Peer;
import io.pointsman.pd.peer.PeerTable;
import java.io.IOException;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Semaphore;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads the engine ids of Mooncake's prefill workers from their bootstrap servers and refreshes
 * them. A worker is queried when it joins, when it becomes healthy, and every 5 s; a restarted
 * engine has new ids. The ids of an unhealthy worker are dropped. One thread polls the fleet;
 * queries run on virtual threads, one at a time per worker.
 */
public final class Bootstrap implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(Bootstrap.class);

  static final Duration REFRESH = Duration.ofSeconds(5);
  static final Duration FIRST_RETRY = Duration.ofMillis(250);
  private static final Duration LOOK = Duration.ofMillis(100);
  private static final Duration TIMEOUT = Duration.ofSeconds(5);
  private static final int STANDARD_PORT = 8998;
  private static final int MOST_AT_ONCE = 32;

  /** A blocking query to a server. */
  @FunctionalInterface
  public interface Question {
    /**
     * The body of a 2xx response.
     *
     * @throws IOException if there is none in time
     */
    byte[] ask(String url, Duration timeout) throws IOException;
  }

  private final Fleet fleet;
  private final PeerTable peers;
  private final Question question;
  private final Ticker ticker;
  private final Semaphore places = new Semaphore(MOST_AT_ONCE);
  private @Nullable Rounds rounds;

  /** By worker. Owned by the polling thread, like its fields that are not volatile. */
  private final Map<Worker, Watch> watches = new HashMap<>();

  /** State of the queries to one worker. */
  private static final class Watch {
    private volatile boolean asking;
    private volatile long dueAt;
    private volatile long retryNanos = FIRST_RETRY.toNanos();
    private volatile boolean logged;
    private boolean healthy;
  }

  public Bootstrap(Fleet fleet, PeerTable peers, Question question, Ticker ticker) {
    this.fleet = fleet;
    this.peers = peers;
    this.question = question;
    this.ticker = ticker;
  }

  /** Starts polling. */
  public Bootstrap start() {
    rounds = Rounds.start("bootstrap", LOOK, this::look);
    return this;
  }

  /** Starts all due queries. */
  void look() {
    List<Worker> prefills =
        fleet.snapshot().workers().stream().filter(w -> w.spec().role() == Role.PREFILL).toList();
    watches.keySet().removeIf(Worker::left);
    long now = ticker.nanos();
    for (Worker worker : prefills) {
      Watch watch = watches.computeIfAbsent(worker, _ -> fresh(now));
      boolean healthy = worker.health().healthy();
      if (healthy != watch.healthy) {
        watch.healthy = healthy;
        watch.dueAt = now;
        if (!healthy) {
          peers.update(worker.id(), peer -> peer.withEngineIds(List.of()));
        }
      }
      if (healthy && !watch.asking && now - watch.dueAt >= 0 && places.tryAcquire()) {
        watch.asking = true;
        Thread.ofVirtual().name("bootstrap-" + worker.id()).start(() -> ask(worker, watch));
      }
    }
  }

  /** Number of queries in progress. */
  int underWay() {
    return MOST_AT_ONCE - places.availablePermits();
  }

  private static Watch fresh(long now) {
    Watch watch = new Watch();
    watch.dueAt = now;
    return watch;
  }

  private void ask(Worker worker, Watch watch) {
    String url = url(worker);
    try {
      List<String> ids = BootstrapAnswer.engineIds(question.ask(url, TIMEOUT));
      peers.update(worker.id(), peer -> peer.withEngineIds(ids));
      if (fleet.snapshot().worker(worker.id()) == null) {
        peers.remove(worker.id());
      }
      watch.retryNanos = FIRST_RETRY.toNanos();
      watch.dueAt = ticker.nanos() + REFRESH.toNanos();
      watch.logged = false;
    } catch (IOException | RuntimeException e) {
      watch.dueAt = ticker.nanos() + watch.retryNanos;
      watch.retryNanos = Math.min(2 * watch.retryNanos, REFRESH.toNanos());
      if (!watch.logged) {
        watch.logged = true;
        log.warn("{}: no engine ids of {}, asking again: {}", url, worker, LogText.of(e));
      }
    } finally {
      watch.asking = false;
      places.release();
    }
  }

  private String url(Worker worker) {
    Peer peer = peers.of(worker);
    int port = peer.bootstrapPort() == 0 ? STANDARD_PORT : peer.bootstrapPort();
    return "http://" + Address.urlHost(worker) + ":" + port + "/query";
  }

  @Override
  public void close() {
    Rounds begun = rounds;
    if (begun != null) {
      begun.close();
    }
  }
}

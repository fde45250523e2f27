package io.pointsman.engine.fleet;

import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.LoadBoard.Mark;
import org.jspecify.annotations.Nullable;

/**
 * The results of one worker's health probes: its health, and the states that end with a recovery.
 * The mark {@link Mark#UNHEALTHY} changes under this object's lock, from the health and from {@link
 * #ignored} together. Any thread.
 */
public final class ProbeState {
  private final WorkerCell cell;
  private final HealthState health;
  private final CircuitBreaker breaker;
  private final EngineShutdown shutdown;
  private final RestState rest;
  private final CapacityState capacity;
  private final FailureSigns signs;

  /** True while the worker gets requests although its probes fail, because none answers probes. */
  private volatile boolean ignored;

  private volatile boolean refusing;

  /** Number of {@link #routers} of a router that no engine is behind. */
  public static final int NO_ENGINE = Integer.MAX_VALUE / 2;

  /** Id of the router that answers probes; null if an engine does. */
  private volatile @Nullable String router;

  private volatile int routers;

  /** False if the last probe got no answer. */
  private volatile boolean answered;

  ProbeState(
      WorkerCell cell,
      HealthSettings settings,
      CircuitBreaker breaker,
      EngineShutdown shutdown,
      RestState rest,
      CapacityState capacity,
      Ticker ticker) {
    this.cell = cell;
    this.breaker = breaker;
    this.shutdown = shutdown;
    this.rest = rest;
    this.capacity = capacity;
    health = new HealthState(settings, this::healthChanged);
    signs = new FailureSigns(health, ticker);
    cell.mark(Mark.UNHEALTHY, true);
  }

  /**
   * Begins as healthy, because the worker that this one replaces was. Without a slow start: its
   * engine is warm.
   */
  void beginHealthy() {
    cell.mark(Mark.UNHEALTHY, false);
    health.beginHealthy();
  }

  HealthState health() {
    return health;
  }

  FailureSigns failureSigns() {
    return signs;
  }

  /** Records the response to a health probe. Recovery from an outage ends a rest. */
  void probed(boolean good) {
    HealthState.Status before = health.status();
    boolean wasOut = before == HealthState.Status.UNHEALTHY;
    health.probed(good);
    if (good) {
      refusing = false;
    }
    if (before != HealthState.Status.HEALTHY && health.healthy() && shutdown.begun()) {
      shutdown.ends();
      cell.mark(Mark.CLOSING, false);
    }
    if (!recovered(wasOut) && good) {
      breaker.reachable();
    }
  }

  private boolean recovered(boolean wasOut) {
    if (!wasOut || !health.healthy()) {
      return false;
    }
    breaker.recovered();
    signs.served();
    rest.end();
    return true;
  }

  /**
   * Records why a health probe fails, for people. Call it before the result of the probe.
   *
   * @param reason one short line without control characters
   */
  public void failing(String reason) {
    health.failing(reason);
  }

  /**
   * Records a health probe that got a connection, but no response in time. It counts as failed, but
   * not as evidence of a restart.
   */
  public void silent() {
    answered = false;
    health.silent();
  }

  /**
   * Records a health probe without a connection.
   *
   * @param timedOut true if the connection was not accepted in time
   */
  public void unreached(boolean timedOut) {
    answered = false;
    health.unreached(timedOut);
  }

  /**
   * Records that the worker sent parts of responses although it did not answer a health probe. This
   * counts as a good probe.
   */
  public void alive() {
    boolean wasOut = health.status() == HealthState.Status.UNHEALTHY;
    health.alive();
    recovered(wasOut);
  }

  /** Returns true if the last probe was refused: nobody listens. */
  public boolean refusing() {
    return refusing;
  }

  /** Records that a probe found nobody listening; {@link #probed} follows. */
  public void refuses() {
    refusing = true;
  }

  /** Id of the router that answered the last probe; null if none did. */
  public @Nullable String router() {
    return router;
  }

  /**
   * Records the sender of the answer to a probe.
   *
   * @param id id of a router; null for an engine
   */
  public void answeredBy(@Nullable String id) {
    answeredBy(id, id == null ? 0 : 1);
  }

  /**
   * Records who answered a probe.
   *
   * @param id id of a router; null for an engine
   * @param number as {@link #routers} returns
   */
  public void answeredBy(@Nullable String id, int number) {
    router = id;
    routers = number;
    answered = true;
  }

  /**
   * Number of routers from the worker to the nearest engine, with the worker, by its last answer; 0
   * for an engine, {@link #NO_ENGINE} if all ways lead in a circle.
   */
  public int routers() {
    return routers;
  }

  /** True if the last probe got an answer, so {@link #router} and {@link #routers} are current. */
  public boolean answered() {
    return answered;
  }

  /**
   * Gives the worker requests although its probes fail, because no worker of a pool answers probes.
   * Ends when it recovers, when a connection to it fails, or with {@link #heed}.
   *
   * @return false if the worker is draining, or fails for another reason than unanswered probes
   */
  synchronized boolean ignore() {
    boolean draining = cell.left() || cell.has(Mark.DRAINING) || cell.has(Mark.CORDONED);
    if (draining || !health.merelySilent()) {
      return false;
    }
    if (!ignored) {
      ignored = true;
      cell.mark(Mark.UNHEALTHY, false);
    }
    return true;
  }

  /** Ends {@link #ignore}. */
  synchronized void heed() {
    ignored = false;
    cell.mark(Mark.UNHEALTHY, !health.healthy());
  }

  /** Returns true while the worker gets requests although its probes fail. */
  public boolean ignored() {
    return ignored;
  }

  /** The health calls this, under its lock, when its status changes. */
  synchronized void healthChanged() {
    ignored = ignored && health.merelySilent();
    boolean wasOut = cell.has(Mark.UNHEALTHY);
    if (wasOut && health.healthy()) {
      capacity.warm();
    }
    cell.mark(Mark.UNHEALTHY, !health.healthy() && !ignored);
  }
}

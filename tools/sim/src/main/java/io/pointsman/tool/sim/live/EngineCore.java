package io.pointsman.tool.sim.live;

import io.pointsman.tool.sim.failure.FailureTable;
import io.pointsman.tool.sim.schedule.Scheduler;
import java.time.InstantSource;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The parts of one engine. Owned by its event loop, except for the failures and the id. */
public final class EngineCore {
  private final EngineProfile profile;
  private final Scheduler scheduler;
  private final EngineDriver driver;
  private final FailureTable failures;
  private final InstantSource clock;
  private final EngineCounters counters = new EngineCounters();
  private final Set<GenerationRun> runs = new LinkedHashSet<>();
  private boolean ended;
  private boolean died;
  private int deaths;
  private int lost;
  private HandOvers handOvers = HandOvers.NONE;
  private @Nullable CacheAnnouncer announcer;
  private volatile String id = "";
  private long serial;

  /** Creates an idle engine. */
  public EngineCore(
      EngineProfile profile,
      Scheduler scheduler,
      EngineDriver driver,
      FailureTable failures,
      InstantSource clock) {
    this.profile = profile;
    this.scheduler = scheduler;
    this.driver = driver;
    this.failures = failures;
    this.clock = clock;
  }

  public EngineProfile profile() {
    return profile;
  }

  /** The step loop. */
  public Scheduler scheduler() {
    return scheduler;
  }

  /** The driver of the step loop. */
  public EngineDriver driver() {
    return driver;
  }

  /** The active failures. */
  public FailureTable failures() {
    return failures;
  }

  /** The counters of its HTTP interface. */
  public EngineCounters counters() {
    return counters;
  }

  /** The engine's part in KV transfers. */
  public HandOvers handOvers() {
    return handOvers;
  }

  /** Sets the engine's part in KV transfers; before its first request. */
  public void handOverBy(HandOvers newHandOvers) {
    handOvers = newHandOvers;
  }

  /** The publisher of its cache changes; null: none. */
  public @Nullable CacheAnnouncer announcer() {
    return announcer;
  }

  /** Sets the publisher of its cache changes; before its first request. */
  public void announceBy(CacheAnnouncer newAnnouncer) {
    announcer = newAnnouncer;
  }

  /** The runs that are in the scheduler. */
  Set<GenerationRun> runs() {
    return runs;
  }

  /** Returns true if it computes nothing any more, although its server may still answer. */
  public boolean ended() {
    return ended;
  }

  /** Returns true if it ended with an error. */
  public boolean died() {
    return died;
  }

  /**
   * Shuts down as vLLM does on SIGTERM. Requests end with the tokens so far and the finish reason
   * {@code abort}; streams without a token get no further byte.
   */
  public void shutDown() {
    ended = true;
    List.copyOf(runs).forEach(GenerationRun::cutShort);
  }

  /** Ends with an error. Every request in progress fails. */
  public void die() {
    ended = true;
    died = true;
    deaths++;
    lost += runs.size();
    List.copyOf(runs).forEach(GenerationRun::fail);
  }

  /** Number of ends by {@link #die}. */
  public int deaths() {
    return deaths;
  }

  /** Number of generations that failed because it died. */
  public int lost() {
    return lost;
  }

  /** Computes again, as after a restart. */
  public void begin() {
    ended = false;
    died = false;
  }

  /** The value of {@code x-engine-id}. */
  public String id() {
    return id;
  }

  /** Sets the id, once its address is known. */
  public void name(String newId) {
    id = newId;
  }

  /** Returns a number unique among this engine's requests. */
  public long nextSerial() {
    return ++serial;
  }

  /** Seconds since 1970. */
  public long epochSeconds() {
    return clock.instant().getEpochSecond();
  }

  /** The actual state at this moment. */
  public EngineState state() {
    return EngineState.of(this);
  }

  /** Resets all counters to zero. */
  public void resetCounters() {
    counters.reset();
    scheduler.resetTotals();
  }
}

package io.pointsman.sim.live;

import io.pointsman.sim.failure.FailureTable;
import io.pointsman.sim.schedule.Scheduler;
import java.time.InstantSource;
import org.jspecify.annotations.Nullable;

/** Everything one engine owns. Owned by its event loop, but for the failures and the id. */
public final class Engine {
  private final EngineProfile profile;
  private final Scheduler scheduler;
  private final EngineDriver driver;
  private final FailureTable failures;
  private final InstantSource clock;
  private final EngineCounters counters = new EngineCounters();
  private HandOvers handOvers = HandOvers.NONE;
  private @Nullable Announcer announcer;
  private volatile String id = "";
  private long serial;

  /** An engine at rest. */
  public Engine(
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

  /** Who it says it is. */
  public EngineProfile profile() {
    return profile;
  }

  /** Its step loop. */
  public Scheduler scheduler() {
    return scheduler;
  }

  /** What runs the step loop. */
  public EngineDriver driver() {
    return driver;
  }

  /** Failures switched on. */
  public FailureTable failures() {
    return failures;
  }

  /** What its HTTP surface has seen. */
  public EngineCounters counters() {
    return counters;
  }

  /** What its requests have to do with the KV of other engines. */
  public HandOvers handOvers() {
    return handOvers;
  }

  /** Gives the engine a role; done before its first request. */
  public void handOverBy(HandOvers newHandOvers) {
    handOvers = newHandOvers;
  }

  /** What announces its prefix cache; null: nothing. */
  public @Nullable Announcer announcer() {
    return announcer;
  }

  /** Has changes of its prefix cache announced; done before its first request. */
  public void announceBy(Announcer newAnnouncer) {
    announcer = newAnnouncer;
  }

  /** The value of {@code x-engine-id}. */
  public String id() {
    return id;
  }

  /** Names the engine; done once its address is known. */
  public void name(String newId) {
    id = newId;
  }

  /** A number that no other request of this engine has. */
  public long nextSerial() {
    return ++serial;
  }

  /** Seconds since 1970. */
  public long epochSeconds() {
    return clock.instant().getEpochSecond();
  }

  /** The truth at this moment. */
  public EngineState state() {
    return EngineState.of(this);
  }

  /** Starts all counters at zero again. */
  public void resetCounters() {
    counters.reset();
    scheduler.resetTotals();
  }
}

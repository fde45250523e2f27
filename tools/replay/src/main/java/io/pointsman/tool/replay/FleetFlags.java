package io.pointsman.tool.replay;

import io.pointsman.engine.deferral.DeferralSettings;
import io.pointsman.engine.policy.catalog.PolicySettings;
import io.pointsman.engine.policy.cost.CostSettings;
import io.pointsman.tool.replay.run.SimulationSettings;
import io.pointsman.tool.replay.run.SimulationSettings.Announcements;
import io.pointsman.tool.replay.run.SimulationSettings.Change;
import io.pointsman.tool.sim.schedule.ServiceProfile;
import io.pointsman.tool.sim.schedule.ServiceProfiles;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** The flags for the simulated fleet and the router's knowledge of it. */
final class FleetFlags {
  private static final int WORKERS = 8;
  private static final String AS_TEXT = "text:";

  @Option(names = "--workers", description = "Number of simulated engines. Default: 8.")
  private @Nullable Integer workers;

  @Option(
      names = "--kv-tokens",
      description = "KV memory of each engine, in tokens. Default: as in --engine.")
  private @Nullable Integer kvTokens;

  @Mixin private final EngineFlags engine = new EngineFlags();

  @Option(
      names = "--assumed-kv-tokens",
      description =
          "KV memory that policies assume for each engine until they learn its size. Default: the"
              + " real size, which engines report.")
  private @Nullable Integer assumedKvTokens;

  @Option(
      names = "--unreported",
      description =
          "Engines report no cached tokens, and routers misjudge prompt lengths by up to this"
              + " share. Default: 0; engines report everything.")
  private double unreported;

  @Option(
      names = "--slow",
      paramLabel = "I=F",
      description = "Each step of engine I takes F times as long. Can be repeated.")
  private Map<Integer, Double> slow = Map.of();

  @Option(
      names = "--change",
      split = ",",
      paramLabel = "SECONDS=I",
      description =
          "Remove engine I at this second; if it does not exist, add it with an empty cache. Give"
              + " the changes in order of time.")
  private List<String> changes = List.of();

  @Option(
      names = "--kv-events",
      paramLabel = "ids|[text:]LATE[:LOST]",
      description =
          "Use token id prompts. Engines publish KV events LATE seconds late and lose a share of"
              + " LOST batches. ids: no KV events; text: use text prompts.")
  private @Nullable String events;

  @Option(
      names = "--defer-beyond",
      paramLabel = "MS",
      description =
          "Defer a request while the predicted wait on every engine exceeds this time, if the"
              + " policy predicts it. 0: never. Default: as in 'serve'.")
  private @Nullable Double holdBeyond;

  @Option(names = "--seed", defaultValue = "1", description = "Seed for all random numbers.")
  private long seed;

  /** The seed of all random draws. */
  long seed() {
    return seed;
  }

  /** Number of engines; null if not given. */
  @Nullable Integer workers() {
    return workers;
  }

  /** KV memory of each engine in tokens; null if not given. */
  @Nullable Integer kvTokens() {
    return kvTokens;
  }

  /** Kind of the engines; null if not given. */
  @Nullable ServiceProfile engine() {
    return engine.profile();
  }

  /** Tokens per block of an engine; null if not given. */
  @Nullable Integer blockTokens() {
    return engine.blockTokens();
  }

  /** Slow engines with their factors; null if none is given. */
  @Nullable Map<Integer, Double> slow() {
    return slow.isEmpty() ? null : slow;
  }

  /** Changes of the fleet; null if none is given. */
  @Nullable List<Change> changes() {
    return changes.isEmpty() ? null : parsedChanges();
  }

  /** Settings of the fleet, with defaults for missing flags. */
  SimulationSettings settings() {
    ServiceProfile kind = engine.profile() == null ? ServiceProfiles.DEFAULT : engine.profile();
    return settings(
        workers == null ? WORKERS : workers,
        kvTokens == null ? kind.kvTokens() : kvTokens,
        slow,
        parsedChanges(),
        kind,
        engine.blockTokens() == null ? 0 : engine.blockTokens());
  }

  /** Settings of another fleet with the same knowledge of the router. */
  SimulationSettings settings(
      int engines,
      int memory,
      Map<Integer, Double> slowOnes,
      List<Change> changesOfFleet,
      ServiceProfile kind,
      int blockTokens) {
    int assumed = assumedKvTokens == null ? memory : assumedKvTokens;
    CostSettings cost = CostSettings.DEFAULTS.withKvTokens(assumed);
    return new SimulationSettings(
        engines,
        memory,
        slowOnes,
        changesOfFleet,
        seed,
        PolicySettings.DEFAULTS.withCost(cost),
        events == null ? null : announcements(events),
        unreported,
        deferral(),
        kind,
        blockTokens);
  }

  private List<Change> parsedChanges() {
    return changes.stream().map(FleetFlags::change).toList();
  }

  private DeferralSettings deferral() {
    DeferralSettings usual = DeferralSettings.DEFAULTS;
    if (holdBeyond == null) {
      return usual;
    }
    double millis = holdBeyond == 0 ? 0 : ReplayCommand.positive("defer-beyond", holdBeyond);
    return usual.withBeyond(Duration.ofNanos((long) (millis * 1e6)));
  }

  private static Announcements announcements(String text) {
    if (text.equals("ids")) {
      return new Announcements(Double.POSITIVE_INFINITY, 0);
    }
    boolean prompts = text.startsWith(AS_TEXT);
    String[] parts = text.substring(prompts ? AS_TEXT.length() : 0).split(":", 2);
    try {
      double lost = parts.length == 1 ? 0 : Double.parseDouble(parts[1]);
      return new Announcements(Double.parseDouble(parts[0]), lost, prompts);
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(
          "kv-events: " + text + " (expected: ids|[text:]LATE[:LOST])", e);
    }
  }

  private static Change change(String text) {
    String[] parts = text.split("=", 2);
    try {
      return new Change(Double.parseDouble(parts[0]), Integer.parseInt(parts[parts.length - 1]));
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException("change: " + text + " (expected: SECONDS=I)", e);
    }
  }
}

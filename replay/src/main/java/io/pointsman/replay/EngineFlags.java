package io.pointsman.replay;

import io.pointsman.sim.schedule.ServiceProfile;
import io.pointsman.sim.schedule.ServiceProfiles;
import java.util.Iterator;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Which kind of engine is simulated. */
final class EngineFlags {
  @Option(
      names = "--engine",
      paramLabel = "PROFILE",
      completionCandidates = Names.class,
      description = "Kind of the engines; 8b if not given: ${COMPLETION-CANDIDATES}.")
  private @Nullable String engine;

  @Option(
      names = "--block-size",
      paramLabel = "TOKENS",
      description =
          "Tokens of an engine's KV block, a divisor or a multiple of the trace's; if not given,"
              + " 64 where the trace's can be divided.")
  private @Nullable Integer blockTokens;

  /** The kind asked for; null if none is. */
  @Nullable ServiceProfile profile() {
    return engine == null ? null : ServiceProfiles.of("engine", engine);
  }

  /** Tokens of a block; null if not given. */
  @Nullable Integer blockTokens() {
    if (blockTokens != null && blockTokens < 1) {
      throw new IllegalArgumentException("block-size: " + blockTokens + " (expected: 1 to 4096)");
    }
    return blockTokens;
  }

  /** For help texts. */
  static final class Names implements Iterable<String> {
    @Override
    public Iterator<String> iterator() {
      return ServiceProfiles.names().iterator();
    }
  }
}

package io.pointsman.tool.replay;

import io.pointsman.tool.sim.schedule.ServiceProfile;
import io.pointsman.tool.sim.schedule.ServiceProfiles;
import java.util.Iterator;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The flags for the simulated engines. */
final class EngineFlags {
  @Option(
      names = "--engine",
      paramLabel = "PROFILE",
      completionCandidates = Names.class,
      description = "Type of the engines, one of ${COMPLETION-CANDIDATES}. Default: 8b.")
  private @Nullable String engine;

  @Option(
      names = "--block-size",
      paramLabel = "TOKENS",
      description =
          "Tokens per KV block of an engine: a divisor or a multiple of the trace's block size."
              + " Default: 64 if it divides the trace's block size.")
  private @Nullable Integer blockTokens;

  /** The requested kind; null if none is given. */
  @Nullable ServiceProfile profile() {
    return engine == null ? null : ServiceProfiles.of("engine", engine);
  }

  /** Tokens per block; null if not given. */
  @Nullable Integer blockTokens() {
    if (blockTokens != null && blockTokens < 1) {
      throw new IllegalArgumentException("block-size: " + blockTokens + " (expected: 1 to 4096)");
    }
    return blockTokens;
  }

  /** The profile names, for help texts. */
  static final class Names implements Iterable<String> {
    @Override
    public Iterator<String> iterator() {
      return ServiceProfiles.names().iterator();
    }
  }
}

package io.pointsman.tool.replay.random;

import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.tool.replay.run.SimulationSettings;
import io.pointsman.tool.replay.trace.Trace;
import io.pointsman.tool.replay.trace.TraceRequest;
import java.util.HexFormat;
import java.util.TreeMap;

/** A hash of all inputs that a policy's result depends on, except the program itself. */
final class Fingerprint {
  private Fingerprint() {}

  static String of(Trace trace, SimulationSettings settings) {
    long hash = text(settings(settings));
    hash = PrefixBlocks.mix(hash + trace.blockTokens());
    for (TraceRequest request : trace.requests()) {
      hash = PrefixBlocks.mix(hash ^ Double.doubleToLongBits(request.at()));
      hash = PrefixBlocks.mix(hash ^ Double.doubleToLongBits(request.patience()));
      hash = PrefixBlocks.mix(hash + request.follows());
      hash = PrefixBlocks.mix(hash + ((long) request.inputTokens() << 32) + request.outputTokens());
      for (long block : request.blocks()) {
        hash = 31 * hash + block;
      }
    }
    return HexFormat.of().toHexDigits(hash);
  }

  /** Excludes settings of {@code cost}, because its results are not stored. */
  private static String settings(SimulationSettings s) {
    return String.join(
        " ",
        String.valueOf(s.workers()),
        String.valueOf(s.kvTokens()),
        String.valueOf(new TreeMap<>(s.slow())),
        String.valueOf(s.changes()),
        String.valueOf(s.seed()),
        String.valueOf(s.announcements()),
        String.valueOf(s.unreported()),
        String.valueOf(s.engine()),
        String.valueOf(s.blockTokens()));
  }

  private static long text(String text) {
    long hash = 0;
    for (int i = 0; i < text.length(); i++) {
      hash = PrefixBlocks.mix(hash + text.charAt(i));
    }
    return hash;
  }
}

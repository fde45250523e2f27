package io.pointsman.tool.sim.live;

import com.fasterxml.jackson.databind.JsonNode;
import org.jspecify.annotations.Nullable;

/** A request that one engine serves alone. */
public record WholeRequest(Generation request) implements HandOver {
  @Override
  public void prepare(GenerationRun run, Runnable start) {
    start.run();
  }

  @Override
  public @Nullable JsonNode finished(GenerationRun run) {
    return null;
  }

  @Override
  public void lost() {}
}

package io.pointsman.tool.sim.live;

import io.soabase.recordbuilder.core.RecordBuilder;
import java.util.List;

/**
 * Identity and response defaults of the engine.
 *
 * @param models served names, the first being the base model; at least one
 * @param outputTokens length of a response if the request sets none, at least 1
 * @param embeddingDimensions length of embedding vectors, at least 1
 * @param maxStoredResponses maximum number of stored responses, oldest dropped first; at least 1
 * @param scaleOut true if the render family and {@code /inference/v1/generate} are served
 * @param seed of output texts and of failures
 */
@RecordBuilder
public record EngineProfile(
    List<String> models,
    int outputTokens,
    int embeddingDimensions,
    int maxStoredResponses,
    boolean scaleOut,
    long seed)
    implements EngineProfileBuilder.With {
  /** One model named {@code sim}, responses of 64 tokens, vectors of 64, 1,000 stored responses. */
  public static final EngineProfile DEFAULT =
      new EngineProfile(List.of("sim"), 64, 64, 1000, false, 0);

  /** Copies the names and rejects values out of range. */
  public EngineProfile {
    models = List.copyOf(models);
    if (models.isEmpty()) {
      throw new IllegalArgumentException("model: none (expected: at least one name)");
    }
    if (outputTokens < 1 || embeddingDimensions < 1 || maxStoredResponses < 1) {
      throw new IllegalArgumentException(
          "output-tokens, embedding-dimensions, max-stored-responses: "
              + outputTokens
              + ", "
              + embeddingDimensions
              + ", "
              + maxStoredResponses
              + " (expected: at least 1)");
    }
  }

  public String model() {
    return models.getFirst();
  }
}

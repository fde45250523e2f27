package io.pointsman.engine.fleet;

/**
 * Token counts that an inference engine reported for one request; -1 for counts it did not report.
 *
 * @param promptTokens tokens of the whole prompt
 * @param cachedTokens prompt tokens found in the engine's cache
 * @param completionTokens tokens of the response
 */
public record Usage(int promptTokens, int cachedTokens, int completionTokens) {
  /** No counts were reported. */
  public static final Usage UNKNOWN = new Usage(-1, -1, -1);
}

package io.pointsman.engine.fleet;

/**
 * What an engine says of the tokens of one request; -1 where it says nothing.
 *
 * @param promptTokens of the whole prompt
 * @param cachedTokens how many of them it found in its cache
 * @param completionTokens of the answer
 */
public record Usage(int promptTokens, int cachedTokens, int completionTokens) {
  /** Nothing was said. */
  public static final Usage UNKNOWN = new Usage(-1, -1, -1);
}

package io.pointsman.engine.prefix;

/**
 * The results for the lengths of one prompt, counted together. A counter update for each would
 * prevent overlapping cache misses. For one thread.
 */
final class PrefixTally {
  int added;
  int replaced;
}

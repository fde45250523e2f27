package io.pointsman.engine.prefix;

/**
 * What became of the lengths of one prompt, to be counted together: a count for each would keep the
 * processor from overlapping their cache misses. For one thread.
 */
final class Tally {
  int added;
  int replaced;
}

package io.pointsman.tool.replay.random.draw;

import java.util.SplittableRandom;
import java.util.function.Consumer;

/** A source of the requests of one family. */
interface RequestSource {
  /** Mean number of requests of one arrival, which may be a session or a group. */
  double size();

  /**
   * Adds the requests of one arrival.
   *
   * @param at its time
   */
  void add(double at, SplittableRandom random, Consumer<Item> to);
}

package io.pointsman.replay.random.draw;

import java.util.SplittableRandom;
import java.util.function.Consumer;

/** Where requests of one family come from. */
interface Source {
  /** Mean number of requests of one arrival: of a session, or a group. */
  double size();

  /**
   * Adds the requests of one arrival.
   *
   * @param at when it is
   */
  void add(double at, SplittableRandom random, Consumer<Item> to);
}

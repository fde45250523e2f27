package io.pointsman.app.decide;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.choice.Choices;
import io.pointsman.engine.env.Dice;
import io.pointsman.engine.env.Ticker;
import io.pointsman.request.AffinitySettings;

/** What the endpoints for other planes work with. */
public final class Planes {
  private final RoutingEngine engine;
  private final Choices choices;
  private final Readers readers;
  private final Ticker ticker;
  private final Dice dice;

  /**
   * @param affinity where requests say whom they belong to
   */
  public Planes(
      RoutingEngine engine, Choices choices, AffinitySettings affinity, Ticker ticker, Dice dice) {
    this.engine = requireNonNull(engine, "engine");
    this.choices = requireNonNull(choices, "choices");
    this.ticker = requireNonNull(ticker, "ticker");
    this.dice = requireNonNull(dice, "dice");
    readers = new Readers(affinity);
  }

  RoutingEngine engine() {
    return engine;
  }

  Choices choices() {
    return choices;
  }

  Readers readers() {
    return readers;
  }

  Ticker ticker() {
    return ticker;
  }

  Dice dice() {
    return dice;
  }
}

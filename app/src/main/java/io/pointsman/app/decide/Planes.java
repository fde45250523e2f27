package io.pointsman.app.decide;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.choice.Choices;
import io.pointsman.engine.env.Dice;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Role;
import io.pointsman.proxy.admission.AdmissionSettings;
import io.pointsman.request.AffinitySettings;
import org.jspecify.annotations.Nullable;

/** What the endpoints for other planes work with. */
public final class Planes {
  private final RoutingEngine engine;
  private final Choices choices;
  private final Readers readers;
  private final Ticker ticker;
  private final Dice dice;
  private final boolean decodeServesWhole;
  private final AdmissionSettings admission;
  private final @Nullable SplitPlaces split;

  /** In a fleet of regular workers, or where no other plane is told of two. */
  public Planes(
      RoutingEngine engine,
      Choices choices,
      AffinitySettings affinity,
      boolean decodeServesWhole,
      AdmissionSettings admission,
      Ticker ticker,
      Dice dice) {
    this(engine, choices, affinity, decodeServesWhole, admission, null, ticker, dice);
  }

  /**
   * @param affinity where requests say whom they belong to
   * @param decodeServesWhole whether workers for decode may serve whole requests
   * @param admission what is answered while all workers of a model are busy
   * @param split chooses two workers for a request; null if one serves each
   */
  public Planes(
      RoutingEngine engine,
      Choices choices,
      AffinitySettings affinity,
      boolean decodeServesWhole,
      AdmissionSettings admission,
      @Nullable SplitPlaces split,
      Ticker ticker,
      Dice dice) {
    this.decodeServesWhole = decodeServesWhole;
    this.admission = requireNonNull(admission, "admission");
    this.split = split;
    this.engine = requireNonNull(engine, "engine");
    this.choices = requireNonNull(choices, "choices");
    this.ticker = requireNonNull(ticker, "ticker");
    this.dice = requireNonNull(dice, "dice");
    readers = new Readers(affinity);
  }

  /** The role that serves a whole request for {@code model}. */
  Role roleOfWhole(@Nullable String model) {
    boolean decode =
        decodeServesWhole
            && !engine.serves(Role.REGULAR, model)
            && engine.serves(Role.DECODE, model);
    return decode ? Role.DECODE : Role.REGULAR;
  }

  /** What is answered while all workers of {@code model} are busy: 429 or 503. */
  int busyStatus(@Nullable String model) {
    return admission.busyStatus(model);
  }

  /** Null if one worker serves each request. */
  @Nullable SplitPlaces split() {
    return split;
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

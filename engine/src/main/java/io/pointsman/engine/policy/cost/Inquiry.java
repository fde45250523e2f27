package io.pointsman.engine.policy.cost;

import io.pointsman.engine.policy.cost.LatencyModel.Coefficients;
import io.pointsman.engine.prefix.PrefixBlocks;
import org.jspecify.annotations.Nullable;

/**
 * What one request would cost on workers of one kind: all that is the same for each of them is
 * looked up once. For one thread, and the moment; to be used again.
 */
final class Inquiry {
  /** How much each decoding request adds to the price: it is slowed down by every prefill. */
  private static final double DECODE_PRICE = 0.02;

  /** Requests held back that count in the price: with all of them it would feed on itself. */
  private static final int MOST_HELD_BACK = 4;

  private @Nullable PoolModel kind;
  private PrefixBlocks prefix = PrefixBlocks.NONE;
  private Coefficients latency = LatencyModel.PRIOR;
  private long now;
  private int tokens;
  private double price;
  private double stepsPerToken;
  private double idleDelay;
  private double busyDelay;

  /** Of the worker whose cost was asked for last. */
  private double waits;

  /**
   * When a first token is expected.
   *
   * @param ttft milliseconds from the placement on
   * @param delay the part of them that is not explained by prompts ({@link PoolModel#delay})
   * @param busy whether the worker has something to compute already
   * @param waitsForRoom whether the prompt has to wait for KV memory
   */
  record Expectation(double ttft, double delay, boolean busy, boolean waitsForRoom) {}

  /**
   * What a worker stands at.
   *
   * @param kind what it shares with workers of its kind
   * @param ahead prompt tokens that it has yet to compute
   * @param next how many of them come out next, all at once
   * @param progressFrom when these have changed last
   * @param pending requests that these belong to
   * @param assumesAt when one of them is to be taken for computed, though nothing is heard of it
   * @param decoding requests that have their first token
   * @param util share of the KV memory that decoding reads
   * @param room tokens of KV memory that a further prompt may take without waiting
   * @param roomTold whether the engine has told how much memory it has; else it is assumed
   * @param speed time that it takes, in parts of what its kind takes
   * @param tokensPerMilli KV memory that becomes free in a millisecond
   */
  record Standing(
      PoolModel kind,
      double ahead,
      double next,
      long progressFrom,
      int pending,
      long assumesAt,
      int decoding,
      double util,
      double room,
      boolean roomTold,
      double speed,
      double tokensPerMilli) {
    Standing withSpeed(double other) {
      return new Standing(
          kind,
          ahead,
          next,
          progressFrom,
          pending,
          assumesAt,
          decoding,
          util,
          room,
          roomTold,
          other,
          tokensPerMilli);
    }
  }

  /** Asks about a request on workers of a kind, whatever it was about before. */
  Inquiry about(PoolModel kind, PrefixBlocks prefix, long now) {
    this.kind = kind;
    this.prefix = prefix;
    this.now = now;
    tokens = kind.tokens(prefix);
    price = kind.price();
    latency = kind.latency.present();
    stepsPerToken = kind.latency.stepsPerToken();
    idleDelay = kind.delay(false);
    busyDelay = kind.delay(true);
    return this;
  }

  /**
   * Takes into account that so many other requests are held back: whichever worker they get, they
   * wait for what is computed before.
   */
  Inquiry beside(int heldBack) {
    price += Math.min(MOST_HELD_BACK, heldBack);
    return this;
  }

  /** Is about nothing until it is asked anew. */
  void forget() {
    kind = null;
    prefix = PrefixBlocks.NONE;
  }

  /** Of which kind the workers are that it is about; null if it is about nothing yet. */
  @Nullable PoolModel kind() {
    return kind;
  }

  /**
   * What it costs to place the request on a worker, in milliseconds: its predicted time to first
   * token and what its computation does to others.
   *
   * @param held blocks of the prompt that the worker holds
   */
  double cost(Standing at, int held) {
    double uncached = uncached(held);
    double own = own(at, uncached);
    double computed = computed(at, own, uncached);
    double withRoom = withRoom(at, uncached);
    waits = waits(at, own, computed, withRoom);
    return Math.max(computed, withRoom) + priced(at, own);
  }

  /**
   * Milliseconds that the request would wait for others on the worker whose {@link #cost} was asked
   * for last; 0 if it has room.
   */
  double waits() {
    return waits;
  }

  /**
   * Memory that is only assumed keeps nothing waiting: with too small a figure all workers would
   * seem to be full for good. Nor does any keep what finds a worker with nothing in flight. What a
   * worker that is free takes before it begins is no wait for others. It is taken off of the wait
   * for memory as well, of which it is no part: held back for less, requests wait 1 % longer above
   * capacity.
   */
  private double waits(Standing at, double own, double computed, double withRoom) {
    double forRoom = at.roomTold ? withRoom : 0;
    if (at.pending == 0 && (forRoom == 0 || at.decoding == 0)) {
      return 0;
    }
    return Math.max(0, Math.max(computed, forRoom) - own - idleDelay);
  }

  /** The same taken apart. */
  Estimate estimate(Standing at, int held) {
    double uncached = uncached(held);
    double own = own(at, uncached);
    return new Estimate(tokens, (int) uncached, own, ttft(at, own, uncached), priced(at, own));
  }

  /** Predicted milliseconds until the first token on a worker. */
  double ttft(Standing at, int held) {
    double uncached = uncached(held);
    return ttft(at, own(at, uncached), uncached);
  }

  /** What to expect of a worker. */
  Expectation expect(Standing at, int held) {
    boolean busy = at.pending > 0;
    boolean waitsForRoom = uncached(held) > at.room;
    return new Expectation(ttft(at, held), busy ? busyDelay : idleDelay, busy, waitsForRoom);
  }

  private double uncached(int held) {
    return held == 0 ? tokens : Math.max(1, tokens * (1 - prefix.ratio(held)));
  }

  private double own(Standing at, double uncached) {
    return at.speed * latency.millis(uncached * stepsPerToken, at.util);
  }

  private double priced(Standing at, double own) {
    return (price + DECODE_PRICE * at.decoding) * own;
  }

  private double ttft(Standing at, double own, double uncached) {
    return Math.max(computed(at, own, uncached), withRoom(at, uncached));
  }

  /**
   * The same where there is memory enough. Silence is progress with what comes out next, and with
   * no more than that. When this is late, it is taken to need as much longer as it is late, but no
   * more than from its beginning: a worker that hangs is no better than one that has just begun.
   */
  private double computed(Standing at, double own, double uncached) {
    if (at.pending == 0) {
      return own + idleDelay;
    }
    double gone = (now - at.progressFrom) / 1e6;
    double all = behind(at, at.ahead, uncached);
    double rest = behind(at, at.ahead - at.next, uncached);
    return Math.min(all, rest + Math.abs(all - gone - rest)) + busyDelay;
  }

  /** Milliseconds until there is memory for the prompt and it is computed; 0 if there is enough. */
  private double withRoom(Standing at, double uncached) {
    double excess = uncached - at.room;
    if (excess <= 0) {
      return 0;
    }
    double whole = at.speed * latency.millis(uncached * stepsPerToken, 1);
    return excess / at.tokensPerMilli + whole;
  }

  private double behind(Standing at, double ahead, double uncached) {
    return at.speed * latency.millis((ahead + uncached) * stepsPerToken, at.util);
  }
}

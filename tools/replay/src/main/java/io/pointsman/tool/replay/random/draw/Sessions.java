package io.pointsman.tool.replay.random.draw;

import java.util.List;
import java.util.SplittableRandom;
import java.util.function.Consumer;

/** Conversations and agents: each turn adds the previous response and new text. */
final class Sessions implements RequestSource {
  private final TokenLengths lengths;
  private final double turns;
  private final double pause;
  private final boolean closed;
  private final List<PromptText> heads;

  /**
   * @param turns mean number of turns
   * @param pause mean time between turns, relative to the interval between requests
   * @param closed true if a turn waits for the end of the previous response
   */
  Sessions(
      TokenLengths lengths, double turns, double pause, boolean closed, SplittableRandom random) {
    this.lengths = lengths;
    this.turns = turns;
    this.pause = pause;
    this.closed = closed;
    heads = Sources.heads(Draws.one(random, 1, 5, 50), lengths.input() * 0.3, lengths, random);
  }

  @Override
  public double size() {
    return turns;
  }

  @Override
  public void add(double at, SplittableRandom random, Consumer<Item> to) {
    PromptText text = heads.get(random.nextInt(heads.size()));
    int count = 1 + (int) ArrivalProcess.exponential(random, turns - 0.5);
    double when = at;
    Item last = null;
    for (int turn = 0; turn < count && text.tokens() < lengths.longest(); turn++) {
      int more = lengths.around(lengths.input() * 1.4 / turns, random);
      text = Sources.bounded(text, more, lengths, random);
      int answer = lengths.answer(random);
      double wait = turn == 0 ? 0 : 0.2 + 2 * pause * random.nextDouble();
      when += wait;
      last = new Item(when, closed ? last : null, wait, text, answer);
      to.accept(last);
      text = text.with(random.nextLong(), Math.max(1, answer));
    }
  }
}

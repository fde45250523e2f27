package io.pointsman.tool.replay.random.draw;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.Consumer;

/** The sources of all families except mixtures. Each draws the common text of its prompts. */
final class Sources {
  private static final int LONGEST_QUESTION = 250;

  private Sources() {}

  /**
   * Creates a source of this family.
   *
   * @param closed true if turns wait for the end of the previous response
   */
  static RequestSource of(
      Family family, TokenLengths lengths, boolean closed, SplittableRandom random) {
    return switch (family) {
      case INDEPENDENT -> single((r, _) -> fresh(lengths.prompt(r), r), lengths);
      case SYSTEM -> system(lengths, random);
      case TURNS -> new Sessions(lengths, 6, 60, closed, random);
      case TOOLS -> new Sessions(lengths, 12, 6, closed, random);
      case DOCUMENTS -> documents(lengths, random);
      case SIBLINGS -> siblings(lengths, random);
      case TREE -> tree(lengths, random);
      case POOLING -> pooling(lengths, random);
      case SCALES -> scales(lengths);
      case MIXTURE ->
          throw new IllegalArgumentException("family: mixture (expected: a part of it)");
    };
  }

  /** Creates the prompt of a request. */
  private interface Prompt {
    PromptText make(SplittableRandom random, double at);
  }

  private static RequestSource single(Prompt prompt, TokenLengths lengths) {
    return new RequestSource() {
      @Override
      public double size() {
        return 1;
      }

      @Override
      public void add(double at, SplittableRandom random, Consumer<Item> to) {
        to.accept(new Item(at, null, 0, prompt.make(random, at), lengths.answer(random)));
      }
    };
  }

  private static PromptText fresh(int tokens, SplittableRandom random) {
    return PromptText.EMPTY.with(random.nextLong(), tokens);
  }

  static List<PromptText> heads(
      int count, double tokens, TokenLengths lengths, SplittableRandom random) {
    List<PromptText> heads = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      heads.add(fresh(Math.clamp((int) tokens, 1, lengths.longest() / 2), random));
    }
    return heads;
  }

  private static RequestSource system(TokenLengths lengths, SplittableRandom random) {
    double share = Draws.one(random, 0.3, 0.6, 0.9);
    int count = Draws.one(random, 1, 4, 40, 400);
    Popularity popularity = new Popularity(count, Draws.one(random, 0.0, 0.7, 1.2));
    List<PromptText> heads = heads(count, lengths.input() * share, lengths, random);
    return single(
        (r, _) -> {
          PromptText head = heads.get(popularity.draw(r));
          return bounded(head, lengths.around(lengths.input() * (1 - share), r), lengths, r);
        },
        lengths);
  }

  /** Appends new text to a text, up to the longest prompt. */
  static PromptText bounded(
      PromptText head, int more, TokenLengths lengths, SplittableRandom random) {
    int least = Math.max(1, TokenLengths.SHORTEST - head.tokens());
    int most = Math.max(1, lengths.longest() - head.tokens());
    return head.with(random.nextLong(), Math.min(Math.max(least, more), most));
  }

  private static RequestSource documents(TokenLengths lengths, SplittableRandom random) {
    int count = Draws.one(random, 20, 200, 2000);
    Popularity popularity = new Popularity(count, Draws.one(random, 0.0, 0.8, 1.3));
    List<PromptText> documents = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      int tokens = Math.min(lengths.prompt(random), lengths.longest() - LONGEST_QUESTION);
      documents.add(fresh(tokens, random));
    }
    return single(
        (r, _) ->
            bounded(
                documents.get(popularity.draw(r)),
                Draws.one(r, 30, 64, LONGEST_QUESTION),
                lengths,
                r),
        lengths);
  }

  private static RequestSource siblings(TokenLengths lengths, SplittableRandom random) {
    int size = Draws.one(random, 4, 8, 32);
    return new RequestSource() {
      @Override
      public double size() {
        return size;
      }

      @Override
      public void add(double at, SplittableRandom r, Consumer<Item> to) {
        PromptText prompt = fresh(lengths.prompt(r), r);
        for (int i = 0; i < size; i++) {
          to.accept(new Item(at + 0.02 * r.nextDouble(), null, 0, prompt, lengths.answer(r)));
        }
      }
    };
  }

  /** Each node has a part of text; a prompt is the path to a leaf plus new text. */
  private static RequestSource tree(TokenLengths lengths, SplittableRandom random) {
    long salt = random.nextLong();
    int depth = Draws.one(random, 3, 4, 6);
    Popularity children = new Popularity(Draws.one(random, 2, 4, 8), Draws.one(random, 0.0, 1.0));
    int part = Math.max(1, lengths.input() / (depth + 1));
    return single(
        (r, _) -> {
          PromptText path = PromptText.EMPTY.with(salt, part);
          for (int level = 1; level < depth && path.tokens() + part < lengths.longest(); level++) {
            path = path.with(salt + level * 1000L + children.draw(r), part);
          }
          return bounded(path, lengths.around(part, r), lengths, r);
        },
        lengths);
  }

  /** Embeddings have no common text; prompts of classification begin with the instructions. */
  private static RequestSource pooling(TokenLengths lengths, SplittableRandom random) {
    if (lengths.output() == 0) {
      return single((r, _) -> fresh(lengths.prompt(r), r), lengths);
    }
    List<PromptText> heads =
        heads(Draws.one(random, 1, 10), lengths.input() * 0.6, lengths, random);
    return single(
        (r, _) -> {
          PromptText head = heads.get(r.nextInt(heads.size()));
          return bounded(head, lengths.around(lengths.input() * 0.4, r), lengths, r);
        },
        lengths);
  }

  /** Lengths from 100 tokens are log-uniform over three orders of magnitude. */
  private static RequestSource scales(TokenLengths lengths) {
    return new RequestSource() {
      @Override
      public double size() {
        return 1;
      }

      @Override
      public void add(double at, SplittableRandom r, Consumer<Item> to) {
        int prompt = Math.min(lengths.longest(), (int) (100 * Math.pow(1000, r.nextDouble())));
        int answer = (int) Math.pow(1000, r.nextDouble());
        to.accept(new Item(at, null, 0, fresh(prompt, r), answer));
      }
    };
  }
}

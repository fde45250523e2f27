package io.pointsman.engine.policy.cost;

import io.pointsman.engine.prefix.PrefixBlocks;
import org.jspecify.annotations.Nullable;

/**
 * What is learned of all engines of one kind together: how long prompts take, what new work costs
 * those who come later, how long prompts and answers are. Any thread may read; changed under its
 * own lock.
 */
final class PoolModel {
  private static final double FORGETTING = 0.999;

  /** Answers are taken to be this long until the first is counted, and weigh as one answer. */
  private static final double ANSWER_PRIOR = 256;

  /** One answer counts as no more than so many times the mean: some planes tell nonsense. */
  private static final double MOST_MEANS = 32;

  /** Engines count no prompt as so many times more tokens than estimated, or less. */
  private static final double MOST_TOKENS = 20;

  /** So many prompts have to be reported before their length is believed. */
  private static final double PROMPT_PRIOR_TOKENS = 2000;

  /** A request on a worker that computes just now waits about half a step, until known better. */
  private static final double STEP_MILLIS = 30;

  final LatencyModel latency;
  private final Kind kind;
  private final @Nullable PoolModel teacher;
  private final Delay ofIdle = new Delay();
  private final Delay ofBusy = new Delay();
  private final double priceFloor;

  /** No answer counts as longer. */
  private final int longestAnswer;

  private int workers;
  private int pending;
  private int prefilling;
  private double wanted;
  private double computed;
  private double answers = 1;
  private double answerTokens = ANSWER_PRIOR;
  private double estimated = PROMPT_PRIOR_TOKENS;
  private double reported = PROMPT_PRIOR_TOKENS;
  private volatile double price;
  private volatile double meanAnswer = ANSWER_PRIOR;
  private volatile double tokensPerEstimated = 1;

  /** A mean of delays with forgetting, drawn towards a prior. */
  private static final class Delay {
    private static final double FORGETTING = 0.995;
    private static final double PRIOR_SAMPLES = 50;

    /** Beyond this a first token has waited for something else. */
    private static final double LONGEST_MILLIS = 300;

    private double samples;
    private double sum;

    /** The mean if the prior were 0. */
    private volatile double seen;

    /** How much of the prior is in the mean. */
    private volatile double priorShare = 1;

    void add(double millis) {
      samples = FORGETTING * samples + 1;
      sum = FORGETTING * sum + Math.clamp(millis, -LONGEST_MILLIS, LONGEST_MILLIS);
      seen = sum / (samples + PRIOR_SAMPLES);
      priorShare = PRIOR_SAMPLES / (samples + PRIOR_SAMPLES);
    }

    void beginFrom(Delay other) {
      samples = other.samples;
      sum = other.sum;
      seen = other.seen;
      priorShare = other.priorShare;
    }

    double mean(double prior) {
      return Math.max(0, seen + priorShare * prior);
    }
  }

  /** Of workers of which nothing is known. */
  PoolModel(CostSettings settings) {
    this(Kind.UNKNOWN, settings, null);
  }

  /**
   * @param teacher whose times are used; null to learn them
   */
  PoolModel(Kind kind, CostSettings settings, @Nullable PoolModel teacher) {
    this.kind = kind;
    this.teacher = teacher;
    latency = new LatencyModel(settings.stepTokens(), teacher == null ? null : teacher.latency);
    priceFloor = settings.priceFloor();
    longestAnswer = settings.kvTokens();
    price = priceFloor;
  }

  Kind kind() {
    return kind;
  }

  /** Goes on from what has been learned of another kind; what its workers have to do is theirs. */
  synchronized void beginFrom(PoolModel former) {
    synchronized (former) {
      latency.beginFrom(former.latency);
      ofIdle.beginFrom(former.ofIdle);
      ofBusy.beginFrom(former.ofBusy);
      wanted = former.wanted;
      computed = former.computed;
      answers = former.answers;
      answerTokens = former.answerTokens;
      meanAnswer = former.meanAnswer;
      estimated = former.estimated;
      reported = former.reported;
      tokensPerEstimated = former.tokensPerEstimated;
    }
    reprice();
  }

  /** Whether no worker is of this kind. */
  synchronized boolean unused() {
    return workers == 0;
  }

  /**
   * What a millisecond of new work costs others, in milliseconds: they wait for it, and it
   * displaces what they may want again.
   */
  double price() {
    return price;
  }

  /**
   * Milliseconds by which first tokens come later than prompts explain: for the step that runs when
   * a request comes, and for what comes behind it and is computed in the same step.
   *
   * @param busy whether the worker has something to compute when the request is placed
   */
  double delay(boolean busy) {
    if (teacher != null) {
      return teacher.delay(busy);
    }
    return busy ? ofBusy.mean(halfAStep()) : ofIdle.mean(0);
  }

  /**
   * What a request on a busy worker is delayed by until known better. Less where steps have turned
   * out to be shorter: of workers that are kept free because of it nothing else would be learned.
   */
  private double halfAStep() {
    return STEP_MILLIS * Math.min(1, latency.present().base() / LatencyModel.PRIOR.base());
  }

  /**
   * A first token has come so many milliseconds later than its prompt, and those before it,
   * explain.
   */
  synchronized void delayed(boolean busy, double millis) {
    (busy ? ofBusy : ofIdle).add(millis);
  }

  /** Mean length of answers in tokens. */
  double meanAnswer() {
    return meanAnswer;
  }

  /** Tokens of a prompt as engines will count them, as far as is known. */
  int tokens(PrefixBlocks prefix) {
    double each = exact(prefix) ? 1 : tokensPerEstimated;
    return (int) Math.min(Integer.MAX_VALUE >> 1, Math.round(prefix.tokens() * each));
  }

  /** Whether a prompt came as token ids: then its length is its number of tokens. */
  static boolean exact(PrefixBlocks prefix) {
    return !prefix.text();
  }

  synchronized void workers(int change) {
    workers += change;
    reprice();
  }

  /**
   * Requests without a first token became more or fewer.
   *
   * @param requests by so many
   * @param workers and the workers that have any, by so many
   */
  synchronized void waiting(int requests, int workers) {
    pending += requests;
    prefilling += workers;
    reprice();
  }

  private void reprice() {
    double waiting = Math.max(0, pending - prefilling);
    double chanceWanted = computed > 0 ? wanted / computed : 0;
    price = priceFloor + waiting / Math.max(1, workers) + chanceWanted;
  }

  /**
   * A prompt was placed.
   *
   * @param computed tokens that the worker has to compute
   * @param wanted how many of them it had until they were evicted
   * @param idle whether the worker had nothing to compute
   */
  synchronized void placed(double computed, double wanted, boolean idle) {
    this.computed = FORGETTING * this.computed + computed;
    this.wanted = FORGETTING * this.wanted + wanted;
    waiting(1, idle ? 1 : 0);
  }

  synchronized void answered(int tokens) {
    answers = FORGETTING * answers + 1;
    double counted = Math.min(Math.min(tokens, longestAnswer), MOST_MEANS * meanAnswer);
    answerTokens = FORGETTING * answerTokens + counted;
    meanAnswer = answerTokens / answers;
  }

  /** An engine has counted a prompt whose length was estimated. */
  synchronized void counted(int estimatedTokens, int reportedTokens) {
    estimated = FORGETTING * estimated + estimatedTokens;
    double least = estimatedTokens / MOST_TOKENS;
    reported =
        FORGETTING * reported + Math.clamp(reportedTokens, least, estimatedTokens * MOST_TOKENS);
    tokensPerEstimated = reported / estimated;
  }
}

package io.pointsman.engine.policy.cost.latency;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.prefix.PrefixBlocks;
import java.util.EnumMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What is learned of all engines of one kind together: how long prompts take, what new work costs
 * those who come later, how long prompts and answers are. Any thread may read; changed under its
 * own lock.
 */
public final class PoolModel {
  private static final double FORGETTING = 0.999;

  /** Answers are taken to be this long until the first is counted, and weigh as one answer. */
  private static final double ANSWER_PRIOR = 256;

  /** One answer counts as no more than so many times the mean: some planes tell nonsense. */
  private static final double MOST_MEANS = 32;

  /** Engines count no prompt as so many times more tokens than estimated, or less. */
  private static final double MOST_TOKENS = 20;

  /** So many prompts have to be reported before their length is believed. */
  private static final double PROMPT_PRIOR_TOKENS = 2000;

  /** First tokens within this part of a step's fixed time belong to one step, within bounds. */
  private static final double SAME_STEP = 0.25;

  private static final double SAME_STEP_LEAST_MILLIS = 1;
  private static final double SAME_STEP_MOST_MILLIS = 10;

  private static final double SHARE_FORGETTING = 0.99;

  private final LatencyModel latency;
  private final @Nullable PoolModel teacher;
  private final Map<WorkerPhase, Delay> delays = new EnumMap<>(WorkerPhase.class);
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
  private double prefillMillis = 300;
  private double answerMillis = 3000;
  private volatile double price;
  private volatile double prefillShare = 0.1;
  private volatile double meanAnswer = ANSWER_PRIOR;
  private volatile double tokensPerEstimated = 1;

  /** A mean of delays with forgetting, drawn towards 0. */
  private static final class Delay {
    private static final double FORGETTING = 0.995;
    private static final double PRIOR_SAMPLES = 50;

    /** Beyond this a first token has waited for something else. */
    private static final double LONGEST_MILLIS = 300;

    private double samples;
    private double sum;

    private volatile double seen;

    void add(double millis) {
      samples = FORGETTING * samples + 1;
      sum = FORGETTING * sum + Math.clamp(millis, -LONGEST_MILLIS, LONGEST_MILLIS);
      seen = sum / (samples + PRIOR_SAMPLES);
    }

    void beginFrom(Delay other) {
      samples = other.samples;
      sum = other.sum;
      seen = other.seen;
    }

    double mean() {
      return Math.max(0, seen);
    }
  }

  /**
   * @param teacher whose times are used; null to learn them
   */
  public PoolModel(
      int stepTokens, double priceFloor, int longestAnswer, @Nullable PoolModel teacher) {
    this.teacher = teacher;
    latency = new LatencyModel(stepTokens, teacher == null ? null : teacher.latency);
    this.priceFloor = priceFloor;
    this.longestAnswer = longestAnswer;
    price = priceFloor;
    for (WorkerPhase phase : WorkerPhase.values()) {
      delays.put(phase, new Delay());
    }
  }

  public LatencyModel latency() {
    return latency;
  }

  /** Goes on from what has been learned of another kind; what its workers have to do is theirs. */
  public synchronized void beginFrom(PoolModel former) {
    synchronized (former) {
      latency.beginFrom(former.latency);
      delays.forEach(
          (phase, delay) -> delay.beginFrom(requireNonNull(former.delays.get(phase), "delay")));
      wanted = former.wanted;
      computed = former.computed;
      answers = former.answers;
      answerTokens = former.answerTokens;
      meanAnswer = former.meanAnswer;
      estimated = former.estimated;
      reported = former.reported;
      tokensPerEstimated = former.tokensPerEstimated;
      prefillMillis = former.prefillMillis;
      answerMillis = former.answerMillis;
      prefillShare = former.prefillShare;
    }
    reprice();
  }

  /** Whether no worker is of this kind. */
  public synchronized boolean unused() {
    return workers == 0;
  }

  /**
   * What a millisecond of new work costs others, in milliseconds: they wait for it, and it
   * displaces what they may want again.
   */
  public double price() {
    return price;
  }

  /**
   * Milliseconds by which first tokens arrive later than prompts explain: a worker that decodes
   * finishes its decode step first.
   *
   * @param phase what the worker does when a request is placed there
   */
  public double delay(WorkerPhase phase) {
    return teacher == null
        ? requireNonNull(delays.get(phase), "delay").mean()
        : teacher.delay(phase);
  }

  /** A first token arrived so many milliseconds later than prompts explain. */
  public synchronized void delayed(WorkerPhase phase, double millis) {
    requireNonNull(delays.get(phase), "delay").add(millis);
  }

  /** First tokens that arrive within so many nanoseconds belong to one step of an engine. */
  long sameStepNanos() {
    double millis = SAME_STEP * latency.present().base();
    return (long) (Math.clamp(millis, SAME_STEP_LEAST_MILLIS, SAME_STEP_MOST_MILLIS) * 1e6);
  }

  /**
   * Mean time of a prefill by itself as a share of the mean time to the end of an answer, 0 to 1. A
   * millisecond of decoding counts as so much of a millisecond before the first token: then a
   * change of both means by the same per cent counts the same.
   */
  public double prefillShare() {
    return prefillShare;
  }

  /** An answer has ended: milliseconds of its prefill by itself, and from its placement on. */
  public synchronized void ended(double prefill, double whole) {
    prefillMillis = SHARE_FORGETTING * prefillMillis + prefill;
    answerMillis = SHARE_FORGETTING * answerMillis + whole;
    prefillShare = Math.min(1, prefillMillis / answerMillis);
  }

  /** Mean length of answers in tokens. */
  public double meanAnswer() {
    return meanAnswer;
  }

  /** Tokens of a prompt as engines will count them, as far as is known. */
  public int tokens(PrefixBlocks prefix) {
    double each = exact(prefix) ? 1 : tokensPerEstimated;
    return (int) Math.min(Integer.MAX_VALUE >> 1, Math.round(prefix.tokens() * each));
  }

  /** Whether a prompt came as token ids: then its length is its number of tokens. */
  public static boolean exact(PrefixBlocks prefix) {
    return !prefix.text();
  }

  public synchronized void workers(int change) {
    workers += change;
    reprice();
  }

  /**
   * Requests without a first token became more or fewer.
   *
   * @param requests by so many
   * @param workers and the workers that have any, by so many
   */
  public synchronized void waiting(int requests, int workers) {
    pending += requests;
    prefilling += workers;
    reprice();
  }

  /** New work delays those who wait only while no worker is free to take them. */
  private void reprice() {
    double waiting = prefilling < workers ? 0 : Math.max(0, pending - prefilling);
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
  public synchronized void placed(double computed, double wanted, boolean idle) {
    this.computed = FORGETTING * this.computed + computed;
    this.wanted = FORGETTING * this.wanted + wanted;
    waiting(1, idle ? 1 : 0);
  }

  public synchronized void answered(int tokens) {
    answers = FORGETTING * answers + 1;
    double counted = Math.min(Math.min(tokens, longestAnswer), MOST_MEANS * meanAnswer);
    answerTokens = FORGETTING * answerTokens + counted;
    meanAnswer = answerTokens / answers;
  }

  /** An engine has counted a prompt whose length was estimated. */
  public synchronized void counted(int estimatedTokens, int reportedTokens) {
    estimated = FORGETTING * estimated + estimatedTokens;
    double least = estimatedTokens / MOST_TOKENS;
    reported =
        FORGETTING * reported + Math.clamp(reportedTokens, least, estimatedTokens * MOST_TOKENS);
    tokensPerEstimated = reported / estimated;
  }
}

package io.pointsman.engine.policy.cost.latency;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.prefix.PrefixBlocks;
import java.util.EnumMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Learned properties of all engines of one kind: prefill times, delays, lengths of prompts and
 * answers, and the price of new work. Any thread may read; changed under its own lock.
 */
public final class PoolModel {
  private static final double FORGETTING = 0.999;

  /** Mean length of answers before the first one, in tokens. It weighs as much as one answer. */
  private static final double ANSWER_PRIOR = 256;

  /** One answer counts as at most this multiple of the mean, because reports may be wrong. */
  private static final double MOST_MEANS = 32;

  /**
   * A reported prompt length counts as at most this multiple of the estimate, and at least its
   * inverse.
   */
  private static final double MOST_TOKENS = 20;

  /** Weight of the estimated lengths against the reported ones, in tokens. */
  private static final double PROMPT_PRIOR_TOKENS = 2000;

  /**
   * First tokens within this fraction of a step's fixed time belong to one step, within the bounds
   * below.
   */
  private static final double SAME_STEP = 0.25;

  private static final double SAME_STEP_LEAST_MILLIS = 1;
  private static final double SAME_STEP_MOST_MILLIS = 10;

  private static final double SHARE_FORGETTING = 0.99;

  private final LatencyModel latency;
  private final @Nullable PoolModel teacher;
  private final Map<WorkerPhase, Delay> delays = new EnumMap<>(WorkerPhase.class);
  private final double priceFloor;

  /** False: first tokens that come late teach no delay. */
  private volatile boolean learnsDelays = true;

  /** Maximum length of one answer in tokens. */
  private final int longestAnswer;

  private int workers;
  private int pending;
  private int prefilling;
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

  /** A mean of delays with forgetting and a prior of 0. */
  private static final class Delay {
    private static final double FORGETTING = 0.995;
    private static final double PRIOR_SAMPLES = 50;

    /** A longer delay has another reason. */
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
   * @param stepTokens prompt tokens of a full step
   * @param priceFloor the price of new work when no request waits
   * @param longestAnswer maximum length of an answer in tokens
   * @param teacher source of learned times; null to learn them here
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

  /** Copies the learned values of another kind, but not the work of its workers. */
  public synchronized void beginFrom(PoolModel former) {
    synchronized (former) {
      latency.beginFrom(former.latency);
      delays.forEach(
          (phase, delay) -> delay.beginFrom(requireNonNull(former.delays.get(phase), "delay")));
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

  /** Returns true if no worker is of this kind. */
  public synchronized boolean unused() {
    return workers == 0;
  }

  /**
   * Returns the price of a millisecond of new work, in milliseconds that other requests lose,
   * because they wait for it.
   */
  public double price() {
    return price;
  }

  /** Returns the price of new work when no request waits. */
  public double priceFloor() {
    return priceFloor;
  }

  /** Stops learning of delays. To be called before workers are added. */
  public void assumeNoDelays() {
    learnsDelays = false;
  }

  /**
   * Returns the delay of first tokens that prompts do not explain, in milliseconds. For example, a
   * decoding worker finishes its decode step first.
   *
   * @param phase the worker's activity at the placement
   */
  public double delay(WorkerPhase phase) {
    return teacher == null
        ? requireNonNull(delays.get(phase), "delay").mean()
        : teacher.delay(phase);
  }

  /** Records a first token that came {@code millis} later than prompts explain. */
  public synchronized void delayed(WorkerPhase phase, double millis) {
    if (learnsDelays) {
      requireNonNull(delays.get(phase), "delay").add(millis);
    }
  }

  /** Returns the time in nanoseconds within which first tokens belong to one step of an engine. */
  long sameStepNanos() {
    double millis = SAME_STEP * latency.present().base();
    return (long) (Math.clamp(millis, SAME_STEP_LEAST_MILLIS, SAME_STEP_MOST_MILLIS) * 1e6);
  }

  /**
   * Returns the mean time of a prefill alone, as a fraction of the mean time of a whole answer; 0
   * to 1. A millisecond of decoding counts as this fraction of a millisecond before the first
   * token. Then the same relative change of both means has the same weight.
   */
  public double prefillShare() {
    return prefillShare;
  }

  /**
   * Records an answer that has ended: milliseconds of its prefill alone, and from its placement to
   * its end.
   */
  public synchronized void ended(double prefill, double whole) {
    prefillMillis = SHARE_FORGETTING * prefillMillis + prefill;
    answerMillis = SHARE_FORGETTING * answerMillis + whole;
    prefillShare = Math.min(1, prefillMillis / answerMillis);
  }

  /** Returns the mean length of answers in tokens. */
  public double meanAnswer() {
    return meanAnswer;
  }

  /** Returns the number of tokens of a prompt that engines are expected to count. */
  public int tokens(PrefixBlocks prefix) {
    double each = exact(prefix) ? 1 : tokensPerEstimated;
    return (int) Math.min(Integer.MAX_VALUE >> 1, Math.round(prefix.tokens() * each));
  }

  /** Returns true if the prompt consists of token ids, so its length is exact. */
  public static boolean exact(PrefixBlocks prefix) {
    return !prefix.text();
  }

  /** Changes the number of workers that can take waiting requests. */
  public synchronized void workers(int change) {
    workers += change;
    reprice();
  }

  /**
   * Changes the number of requests without a first token.
   *
   * @param requests change of the number of requests
   * @param workers change of the number of workers with such requests
   */
  public synchronized void waiting(int requests, int workers) {
    pending += requests;
    prefilling += workers;
    reprice();
  }

  /** New work delays waiting requests only while no worker is free to take them. */
  private void reprice() {
    double waiting = prefilling < workers ? 0 : Math.max(0, pending - prefilling);
    price = priceFloor + waiting / Math.max(1, workers);
  }

  public synchronized void answered(int tokens) {
    answers = FORGETTING * answers + 1;
    double counted = Math.min(Math.min(tokens, longestAnswer), MOST_MEANS * meanAnswer);
    answerTokens = FORGETTING * answerTokens + counted;
    meanAnswer = answerTokens / answers;
  }

  /** Records that an engine has counted a prompt of estimated length. */
  public synchronized void counted(int estimatedTokens, int reportedTokens) {
    estimated = FORGETTING * estimated + estimatedTokens;
    double least = estimatedTokens / MOST_TOKENS;
    reported =
        FORGETTING * reported + Math.clamp(reportedTokens, least, estimatedTokens * MOST_TOKENS);
    tokensPerEstimated = reported / estimated;
  }
}

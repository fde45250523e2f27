package io.pointsman.engine.policy;

import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Worker;
import java.util.List;

/** What a policy that predicts can tell of itself, beside its decisions. Any thread may ask. */
public interface Insight {
  /** Most candidates that are told of one decision. */
  int MOST_CANDIDATES = 64;

  /**
   * What it thinks of each worker, the chosen one first, then from the best to the worst, at most
   * {@link #MOST_CANDIDATES}; of a large pool, of those that it has looked at. Takes some
   * microseconds and memory: for a few requests only.
   *
   * @param chosen whom the request is about to be placed on
   * @param now the time of the decision
   */
  List<Candidate> explain(Pool pool, RoutingRequest request, Worker chosen, long now);

  /** What was expected in caches, what was found, and why the rest was not. */
  LostHits lostHits();

  /** What its models of workers' caches take; when that is all, they forget prompts early. */
  Memory memory();

  /** Whether it places requests by least load, because its own choices turned out slow. */
  Fallback fallback();

  /**
   * @param bytes taken at present
   * @param maxBytes that may be taken
   */
  record Memory(long bytes, long maxBytes) {}

  /**
   * A policy's fallback to least load: the present one, or else the last. Times are means, in
   * milliseconds from the placement to the first token.
   *
   * @param active whether requests are placed by least load now
   * @param activations how often that has begun
   * @param costMillis as measured before it; NaN if there was none
   * @param plainMillis as predicted before it for least load; NaN if there was none
   * @param fallbackMillis as measured while it was active; NaN if it has not ended, or too few
   *     first tokens came
   */
  record Fallback(
      boolean active,
      long activations,
      double costMillis,
      double plainMillis,
      double fallbackMillis) {
    public static final Fallback NONE = new Fallback(false, 0, Double.NaN, Double.NaN, Double.NaN);

    /** The same after its end. */
    public Fallback ended(double fallbackMillis) {
      return new Fallback(false, activations, costMillis, plainMillis, fallbackMillis);
    }
  }
}

package io.pointsman.engine.policy;

import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Worker;
import java.util.List;

/** The diagnostics of a policy that predicts. Any thread may call. */
public interface Insight {
  /** Maximum number of candidates in one explanation. */
  int MOST_CANDIDATES = 64;

  /**
   * Evaluates the workers for a request, the chosen one first, then by rising cost, at most {@link
   * #MOST_CANDIDATES}. In a large pool only the workers that the policy compared are included.
   * Takes some microseconds and memory, so use it for few requests.
   *
   * @param chosen the worker that receives the request
   * @param now time of the decision in ticker nanoseconds
   */
  List<Candidate> explain(Pool pool, RoutingRequest request, Worker chosen, long now);

  /** Prompt tokens expected and found in caches, and the reasons for the difference. */
  CacheMissAttribution cacheMisses();

  /** Memory of its models of the workers' caches. At the maximum, they forget prompts early. */
  Memory memory();

  /**
   * State of the fallback to least load, which is active while the policy's own choices are slower.
   */
  Fallback fallback();

  /**
   * @param bytes current memory in bytes
   * @param maxBytes maximum memory in bytes
   */
  record Memory(long bytes, long maxBytes) {}

  /**
   * A policy's fallback to least load: the active one, or else the last. Times are means in
   * milliseconds from placement to first token.
   *
   * @param active true if requests are placed by least load now
   * @param activations number of times the fallback started
   * @param costMillis measured before it; NaN if there was none
   * @param plainMillis predicted for least load before it; NaN if there was none
   * @param fallbackMillis measured during it; NaN if it has not ended, or if too few first tokens
   *     arrived
   */
  record Fallback(
      boolean active,
      long activations,
      double costMillis,
      double plainMillis,
      double fallbackMillis) {
    public static final Fallback NONE = new Fallback(false, 0, Double.NaN, Double.NaN, Double.NaN);

    /** Returns this fallback after its end. */
    public Fallback ended(double fallbackMillis) {
      return new Fallback(false, activations, costMillis, plainMillis, fallbackMillis);
    }
  }
}

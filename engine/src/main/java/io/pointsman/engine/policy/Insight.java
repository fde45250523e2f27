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

  /**
   * @param bytes taken at present
   * @param maxBytes that may be taken
   */
  record Memory(long bytes, long maxBytes) {}
}

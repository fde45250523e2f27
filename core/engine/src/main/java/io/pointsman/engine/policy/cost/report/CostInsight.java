package io.pointsman.engine.policy.cost.report;

import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.CacheMissAttribution;
import io.pointsman.engine.policy.Candidate;
import io.pointsman.engine.policy.Candidate.Verdict;
import io.pointsman.engine.policy.Insight;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.cost.CostEstimator;
import io.pointsman.engine.policy.cost.CostLearner;
import io.pointsman.engine.policy.cost.CostSettings;
import io.pointsman.engine.policy.cost.Estimate;
import io.pointsman.engine.policy.cost.WorkerModel;
import io.pointsman.engine.policy.cost.cache.CachedPrefix;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Explains decisions of {@code cost}. It repeats the computations of the pick. */
public final class CostInsight implements Insight {
  /** A worker and its estimate; null if the worker cannot be chosen. */
  private record Looked(Worker worker, int inFlight, int cached, @Nullable Estimate estimate) {
    double cost() {
      return estimate == null ? Double.POSITIVE_INFINITY : estimate.cost();
    }
  }

  /** Maximum number of evaluated workers, besides the holders: an event loop waits meanwhile. */
  private static final int MOST_LOOKED = 256;

  private final CostSettings settings;
  private final CostLearner learner;
  private final CacheMissRecorder misses;

  private CostInsight(CostSettings settings, CostLearner learner, CacheMissRecorder misses) {
    this.settings = settings;
    this.learner = learner;
    this.misses = misses;
  }

  /** Creates reports about a policy. To be called before the learner adopts workers. */
  public static CostInsight observing(CostSettings settings, CostLearner learner) {
    return new CostInsight(settings, learner, CacheMissRecorder.observing(learner));
  }

  @Override
  public CacheMissAttribution cacheMisses() {
    return misses.sums();
  }

  @Override
  public Memory memory() {
    return learner.caches().memory().use();
  }

  @Override
  public Fallback fallback() {
    return learner.fallback();
  }

  @Override
  public List<Candidate> explain(Pool pool, RoutingRequest request, Worker chosen, long now) {
    CachedPrefix holders = learner.caches().findUncounted(request, now);
    List<Looked> looked = new ArrayList<>();
    Looked winner = null;
    for (int i : indexes(pool, chosen, holders)) {
      Worker worker = pool.worker(i);
      WorkerModel model = learner.model(worker);
      boolean out =
          worker != chosen && pool.loadIfEligible(i, now, request.tried()) == Pool.NOT_ELIGIBLE;
      int cached = holders == null ? 0 : holders.blocks(worker.slot());
      Estimate estimate = model == null || out ? null : estimate(model, request, cached, now);
      Looked each = new Looked(worker, pool.inFlight(i), cached, estimate);
      looked.add(each);
      winner = worker == chosen ? each : winner;
    }
    looked.sort(
        Comparator.comparing((Looked l) -> l.worker != chosen)
            .thenComparingDouble(Looked::cost)
            .thenComparingInt(Looked::inFlight));
    double least = looked.stream().mapToDouble(Looked::cost).min().orElse(0);
    List<Candidate> candidates = new ArrayList<>();
    for (Looked each : looked.subList(0, Math.min(MOST_CANDIDATES, looked.size()))) {
      candidates.add(candidate(each, winner, least, request));
    }
    return candidates;
  }

  private static Estimate estimate(
      WorkerModel model, RoutingRequest request, int cached, long now) {
    return new CostEstimator()
        .about(model.kind(), request.prefix(), now)
        .estimate(model.state(now), cached);
  }

  /** Returns the workers to evaluate: in a large pool, some from the chosen one on, and holders. */
  private static Set<Integer> indexes(Pool pool, Worker chosen, @Nullable CachedPrefix holders) {
    Set<Integer> found = new LinkedHashSet<>();
    int first = Math.max(0, pool.indexOfSlot(chosen.slot()));
    for (int n = 0; n < Math.min(pool.size(), MOST_LOOKED); n++) {
      found.add((first + n) % pool.size());
    }
    int places = holders == null || pool.size() <= MOST_LOOKED ? 0 : holders.places();
    for (int n = 0; holders != null && n < places; n++) {
      int holder = pool.indexOfSlot(holders.slot(n));
      if (holder != Pool.ABSENT) {
        found.add(holder);
      }
    }
    return found;
  }

  private Candidate candidate(
      Looked looked, @Nullable Looked chosen, double least, RoutingRequest request) {
    Estimate estimate = looked.estimate;
    if (estimate == null) {
      boolean tried = request.tried().contains(looked.worker);
      Verdict why = tried ? Verdict.TRIED : Verdict.OUT;
      return new Candidate(
          looked.worker, why, looked.inFlight, 0, 0, Double.NaN, Double.NaN, Double.NaN);
    }
    return new Candidate(
        looked.worker,
        verdict(looked, estimate, chosen, least),
        looked.inFlight,
        estimate.tokens() - estimate.uncached(),
        estimate.uncached(),
        estimate.ttft(),
        estimate.waiting(),
        estimate.cost());
  }

  private Verdict verdict(Looked looked, Estimate estimate, @Nullable Looked chosen, double least) {
    Estimate winner = chosen == null ? null : chosen.estimate;
    if (chosen == null || winner == null) {
      return Verdict.PASSED_OVER;
    }
    if (looked.worker == chosen.worker) {
      return Verdict.CHOSEN;
    }
    double tie = settings.tieMillis();
    if (estimate.cost() <= least + tie && winner.cost() <= least + tie) {
      return tied(looked, chosen);
    }
    if (estimate.cost() < winner.cost()) {
      return Verdict.PASSED_OVER;
    }
    double waits = estimate.waiting() - winner.waiting();
    double works = estimate.cost() - estimate.waiting() - (winner.cost() - winner.waiting());
    if (waits >= works) {
      return Verdict.LONGER_WAIT;
    }
    return estimate.uncached() > winner.uncached() ? Verdict.LESS_CACHED : Verdict.SLOWER;
  }

  /** Returns the verdict for a worker of about the same cost, by the order of the policy. */
  private static Verdict tied(Looked looked, Looked chosen) {
    if (looked.inFlight != chosen.inFlight) {
      return looked.inFlight > chosen.inFlight ? Verdict.MORE_LOAD : Verdict.PASSED_OVER;
    }
    if (looked.cached != chosen.cached) {
      return looked.cached < chosen.cached ? Verdict.LESS_CACHED : Verdict.PASSED_OVER;
    }
    return Verdict.CHANCE;
  }
}

package io.pointsman.engine.policy.cost;

import io.pointsman.engine.env.RandomSource;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.PickReason;
import io.pointsman.engine.policy.PickResult;
import io.pointsman.engine.policy.Picker;
import io.pointsman.engine.policy.Policy;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.cost.cache.CachedPrefix;
import org.jspecify.annotations.Nullable;

/**
 * {@code cost}: chooses the worker with the least cost of the request. The cost is the predicted
 * time to first token, plus a price for the time that other requests lose. Two models make the
 * predictions: a latency model learned on line, and a model of each worker's cache. Among workers
 * of about equal cost, the order is: fewest requests in flight, longest cached prefix, random.
 * Derivation and evidence: docs/evidence/routing-quality.md. While {@link CostGuard} finds the
 * policy too slow, it chooses by least load.
 *
 * <p>In a large fleet, a pick compares {@link #COMPARED} workers from a random one on, and the
 * holders of a part of the prompt. The least cost of so many is about as good as the least of all.
 */
public final class CostPolicy implements Policy {
  private static final int COMPARED = 128;

  /** Reused by each thread, so a decision allocates nothing. */
  private static final ThreadLocal<WorkerComparison> COMPARISON =
      ThreadLocal.withInitial(WorkerComparison::new);

  private final CostSettings settings;
  private final CostLearner learner;
  private final RandomSource random;

  /** Number of picks; concurrent increments may be lost. */
  private int turn;

  public CostPolicy(CostSettings settings, CostLearner learner, RandomSource random) {
    this.settings = settings;
    this.learner = learner;
    this.random = random;
  }

  @Override
  public Picker picker(Pool pool) {
    WorkerModel[] models = learner.adopt(pool);
    return (request, now) -> pool.isEmpty() ? null : pick(pool, models, request, now);
  }

  private @Nullable Worker pick(Pool pool, WorkerModel[] models, RoutingRequest request, long now) {
    WorkerComparison all = COMPARISON.get();
    try {
      return pick(all, pool, models, request, now);
    } finally {
      all.forget();
    }
  }

  private @Nullable Worker pick(
      WorkerComparison all, Pool pool, WorkerModel[] models, RoutingRequest request, long now) {
    // A pool does not change if a worker's models change or its engine restarts. So each pick
    // checks one worker, in turn.
    learner.revisit(models[Math.floorMod(turn++, models.length)], now);
    CachedPrefix holders = learner.find(request, now);
    all.begin(models, request, holders, now);
    int size = pool.size();
    int first = size <= COMPARED ? 0 : random.roll(size);
    int looked = 0;
    while (looked < size && (looked < COMPARED || all.count == 0)) {
      all.look(pool, wrapped(first + looked++, size));
    }
    int places = looked < size && holders != null ? holders.places() : 0;
    for (int n = 0; holders != null && n < places; n++) {
      int holder = pool.indexOfSlot(holders.slot(n));
      if (wrapped(holder - first + size, size) >= looked) {
        all.look(pool, holder);
      }
    }
    if (all.count == 0) {
      return null;
    }
    boolean fallen = learner.guard().fallenBack(now);
    CostTerms terms = learner.terms();
    int n =
        fallen ? all.leastLoaded(random) : all.best(settings.tieMillis(), terms.tieOrder(), random);
    int chosen = all.indexes[n];
    int cached = all.cached[n];
    int known = holders == null ? 0 : holders.longest();
    PickReason reason = fallen ? PickReason.LEAST_LOAD : PickReason.LEAST_COST;
    WorkerState at = models[chosen].state(now);
    CostEstimator estimator = all.estimator(at.kind());
    double predicted = estimator.ttft(at, cached);
    double stepMillis = estimator.stepMillis(at, cached);
    double plain = n == all.plain ? predicted : all.plainMillis();
    // With one worker, waiting only changes the order. During a fallback the predictions are not
    // trusted, so no request is deferred.
    boolean waits = looked == size && size > 1 && !fallen && terms.deferral();
    request.picked(
        new PickResult(
            reason,
            cached,
            Math.max(cached, known),
            true,
            null,
            predicted,
            all.count > 1 ? plain : Double.NaN,
            stepMillis,
            waits ? all.leastWait : Double.NaN));
    return pool.worker(chosen);
  }

  private static int wrapped(int index, int size) {
    return index < size ? index : index - size;
  }

  /** The candidates of one pick. Each thread reuses one instance. */
  private static final class WorkerComparison {
    private static final RoutingRequest NO_REQUEST = RoutingRequest.builder().build();
    private static final WorkerModel[] NO_MODELS = {};

    /** Maximum number of candidates: a part of a large fleet, and the holders of the prompt. */
    private static final int MOST = COMPARED + CachedPrefix.MOST_PLACES;

    /** The eligible candidates, as indexes in the pool. */
    private final int[] indexes = new int[MOST];

    private final double[] costs = new double[MOST];

    /** Requests in flight on each candidate. */
    private final int[] loads = new int[MOST];

    /** Blocks of the prompt that each candidate has. */
    private final int[] cached = new int[MOST];

    private int count;

    /** The least loaded candidate; among equals, one with the longest cached prefix. */
    private int plain;

    /** For the kind of the last compared worker. */
    private final CostEstimator estimator = new CostEstimator();

    private WorkerModel[] models = NO_MODELS;
    private RoutingRequest request = NO_REQUEST;
    private @Nullable CachedPrefix holders;
    private long now;
    private double least;

    /** Least time that the request would wait for others on any candidate, in milliseconds. */
    private double leastWait;

    void begin(
        WorkerModel[] models, RoutingRequest request, @Nullable CachedPrefix holders, long now) {
      this.models = models;
      this.request = request;
      this.holders = holders;
      this.now = now;
      count = 0;
      plain = 0;
      least = Double.POSITIVE_INFINITY;
      leastWait = Double.POSITIVE_INFINITY;
      estimator.about(models[0].kind(), request.prefix(), now);
    }

    /** Drops the references to the request and to workers. */
    void forget() {
      models = NO_MODELS;
      request = NO_REQUEST;
      holders = null;
      estimator.forget();
    }

    /** Adds a worker to the candidates if it is eligible. */
    void look(Pool pool, int i) {
      int load =
          i == Pool.ABSENT ? Pool.NOT_ELIGIBLE : pool.loadIfEligible(i, now, request.tried());
      if (load == Pool.NOT_ELIGIBLE) {
        return;
      }
      WorkerState at = models[i].state(now);
      CostEstimator about = estimator(at.kind());
      int blocks = holders == null ? 0 : holders.blocks(pool.slot(i));
      double cost = about.cost(at, blocks) / pool.worker(i).share(now);
      leastWait = Math.min(leastWait, about.waits());
      least = Math.min(least, cost);
      indexes[count] = i;
      costs[count] = cost;
      loads[count] = load;
      cached[count] = blocks;
      plain = count == 0 || order(count, plain) < 0 ? count : plain;
      count++;
    }

    /** Returns the predicted time to first token on the plain choice, in milliseconds. */
    double plainMillis() {
      WorkerState at = models[indexes[plain]].state(now);
      return estimator(at.kind()).ttft(at, cached[plain]);
    }

    /**
     * Returns the candidate with the longest cached prefix among those with at most one request
     * more than the least loaded. Ties: the least loaded, then random.
     */
    int leastLoaded(RandomSource random) {
      int best = plain;
      int ties = 0;
      for (int n = 0; n < count; n++) {
        boolean near = loads[n] <= loads[plain] + 1;
        int order = cached[n] == cached[best] ? loads[n] - loads[best] : cached[best] - cached[n];
        if (near && order < 0) {
          best = n;
          ties = 1;
        } else if (near && order == 0 && random.roll(++ties) == 0) {
          best = n;
        }
      }
      return best;
    }

    /**
     * Returns a candidate of about the least cost.
     *
     * @param ordered true for the least loaded one; ties: the longest cached prefix, then random
     */
    int best(double tie, boolean ordered, RandomSource random) {
      double most = least + tie;
      int best = 0;
      int ties = 0;
      for (int n = 0; n < count; n++) {
        boolean cheap = costs[n] <= most;
        int order = ties == 0 ? -1 : ordered ? order(n, best) : 0;
        if (cheap && order < 0) {
          best = n;
          ties = 1;
        } else if (cheap && order == 0 && random.roll(++ties) == 0) {
          best = n;
        }
      }
      return best;
    }

    /** Compares two candidates of equal cost; negative if {@code n} comes first. */
    private int order(int n, int other) {
      return loads[n] == loads[other] ? cached[other] - cached[n] : loads[n] - loads[other];
    }

    CostEstimator estimator(KindModel kind) {
      if (estimator.kind() != kind) {
        estimator.about(kind, request.prefix(), now);
      }
      return estimator;
    }
  }
}

package io.pointsman.engine.policy.cost;

import io.pointsman.engine.env.RandomSource;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.PickReason;
import io.pointsman.engine.policy.Picker;
import io.pointsman.engine.policy.Policy;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.cost.cache.CachedPrefix;
import org.jspecify.annotations.Nullable;

/**
 * {@code cost}: the worker where the request costs least: its predicted time to first token, plus a
 * price on the work that is new there, because others wait for it and what it displaces may be
 * wanted again. Predictions come from a latency model learned on line and a model of each worker's
 * cache; costs that are about equal are decided by requests in flight, then by what is held, then
 * by chance. Derivation and evidence: docs/evidence/routing-quality.md. While {@link CostGuard}
 * says that this is too slow, least load decides.
 *
 * <p>Of more workers than {@link #COMPARED}, so many are compared, from a random one on, and those
 * that hold a part of the prompt: the least cost among so many is as good as the least of all.
 */
public final class CostPolicy implements Policy {
  private static final int COMPARED = 128;

  /** A decision allocates none. */
  private static final ThreadLocal<Comparison> COMPARISON =
      ThreadLocal.withInitial(Comparison::new);

  private final CostSettings settings;
  private final CostLearner learner;
  private final RandomSource dice;

  /** Counts picks; some may be lost. */
  private int turn;

  public CostPolicy(CostSettings settings, CostLearner learner, RandomSource dice) {
    this.settings = settings;
    this.learner = learner;
    this.dice = dice;
  }

  @Override
  public Picker picker(Pool pool) {
    WorkerModel[] models = learner.adopt(pool);
    return (request, now) -> pool.isEmpty() ? null : pick(pool, models, request, now);
  }

  private @Nullable Worker pick(Pool pool, WorkerModel[] models, RoutingRequest request, long now) {
    Comparison all = COMPARISON.get();
    try {
      return pick(all, pool, models, request, now);
    } finally {
      all.forget();
    }
  }

  private @Nullable Worker pick(
      Comparison all, Pool pool, WorkerModel[] models, RoutingRequest request, long now) {
    // A pool stays as it is when one of its workers tells what it serves, or comes back: in turn
    // each is looked at.
    learner.revisit(models[Math.floorMod(turn++, models.length)], now);
    CachedPrefix holdings = learner.find(request, now);
    all.begin(models, request, holdings, now);
    int size = pool.size();
    int first = size <= COMPARED ? 0 : dice.roll(size);
    int looked = 0;
    while (looked < size && (looked < COMPARED || all.count == 0)) {
      all.look(pool, wrapped(first + looked++, size));
    }
    int places = looked < size && holdings != null ? holdings.places() : 0;
    for (int n = 0; holdings != null && n < places; n++) {
      int holder = pool.indexOfSlot(holdings.slot(n));
      if (wrapped(holder - first + size, size) >= looked) {
        all.look(pool, holder);
      }
    }
    if (all.count == 0) {
      return null;
    }
    boolean fallen = learner.guard().fallenBack(now);
    int n = fallen ? all.leastLoaded(dice) : all.best(settings.tieMillis(), dice);
    int chosen = all.indexes[n];
    int held = all.held[n];
    int known = holdings == null ? 0 : holdings.longest();
    PickReason reason = fallen ? PickReason.LEAST_LOAD : PickReason.LEAST_COST;
    request.notes().because(reason, held, Math.max(held, known));
    WorkerState at = models[chosen].state(now);
    double predicted = all.estimator(at.kind()).ttft(at, held);
    request.notes().predict(predicted);
    if (all.count > 1) {
      request.notes().predictPlain(n == all.plain ? predicted : all.plainMillis());
    }
    // With one worker nothing is gained by waiting but another order. While
    // fallen back, predictions are not trusted, so no request is held.
    if (looked == size && size > 1 && !fallen) {
      request.notes().waits(all.leastWait);
    }
    return pool.worker(chosen);
  }

  private static int wrapped(int index, int size) {
    return index < size ? index : index - size;
  }

  /** One pick's look at its candidates; the next of its thread takes its place. */
  private static final class Comparison {
    private static final RoutingRequest NO_REQUEST = RoutingRequest.builder().build();
    private static final WorkerModel[] NO_MODELS = {};

    /** Candidates of one decision: some of a large fleet, and those that hold the prompt. */
    private static final int MOST = COMPARED + CachedPrefix.MOST_PLACES;

    /** Those that may be chosen, in the order in which they were looked at. */
    private final int[] indexes = new int[MOST];

    private final double[] costs = new double[MOST];

    /** Requests in flight on each. */
    private final int[] loads = new int[MOST];

    /** Blocks of the prompt that each holds. */
    private final int[] held = new int[MOST];

    private int count;

    /** The least loaded, of equals one that holds most. */
    private int plain;

    /** For the kind of worker that was looked at last. */
    private final CostEstimator estimator = new CostEstimator();

    private WorkerModel[] models = NO_MODELS;
    private RoutingRequest request = NO_REQUEST;
    private @Nullable CachedPrefix holdings;
    private long now;
    private double least;

    /** How long the request would wait for others where it waits least. */
    private double leastWait;

    void begin(
        WorkerModel[] models, RoutingRequest request, @Nullable CachedPrefix holdings, long now) {
      this.models = models;
      this.request = request;
      this.holdings = holdings;
      this.now = now;
      count = 0;
      plain = 0;
      least = Double.POSITIVE_INFINITY;
      leastWait = Double.POSITIVE_INFINITY;
      estimator.about(models[0].kind(), request.prefix(), now);
    }

    /** Keeps nothing of a request that may be gone, nor of workers. */
    void forget() {
      models = NO_MODELS;
      request = NO_REQUEST;
      holdings = null;
      estimator.forget();
    }

    /** Takes a worker into the comparison, if it may be chosen. */
    void look(Pool pool, int i) {
      int load =
          i == Pool.ABSENT ? Pool.NOT_ELIGIBLE : pool.loadIfEligible(i, now, request.tried());
      if (load == Pool.NOT_ELIGIBLE) {
        return;
      }
      WorkerState at = models[i].state(now);
      CostEstimator about = estimator(at.kind());
      int blocks = holdings == null ? 0 : holdings.blocks(pool.slot(i));
      double cost = about.cost(at, blocks);
      leastWait = Math.min(leastWait, about.waits());
      least = Math.min(least, cost);
      indexes[count] = i;
      costs[count] = cost;
      loads[count] = load;
      held[count] = blocks;
      plain = count == 0 || order(count, plain) < 0 ? count : plain;
      count++;
    }

    /** When the first token would be expected of the plain choice. */
    double plainMillis() {
      WorkerState at = models[indexes[plain]].state(now);
      return estimator(at.kind()).ttft(at, held[plain]);
    }

    /**
     * Of those within one request of the least loaded who holds most, then the least loaded, then
     * any.
     */
    int leastLoaded(RandomSource dice) {
      int best = plain;
      int ties = 0;
      for (int n = 0; n < count; n++) {
        boolean near = loads[n] <= loads[plain] + 1;
        int order = held[n] == held[best] ? loads[n] - loads[best] : held[best] - held[n];
        if (near && order < 0) {
          best = n;
          ties = 1;
        } else if (near && order == 0 && dice.roll(++ties) == 0) {
          best = n;
        }
      }
      return best;
    }

    /** Whose cost is about the least: of those the least loaded, then who holds most, then any. */
    int best(double tie, RandomSource dice) {
      double most = least + tie;
      int best = 0;
      int ties = 0;
      for (int n = 0; n < count; n++) {
        boolean cheap = costs[n] <= most;
        int order = ties == 0 ? -1 : order(n, best);
        if (cheap && order < 0) {
          best = n;
          ties = 1;
        } else if (cheap && order == 0 && dice.roll(++ties) == 0) {
          best = n;
        }
      }
      return best;
    }

    /** Below 0 if the {@code n}th is to be chosen before the {@code other}th. */
    private int order(int n, int other) {
      return loads[n] == loads[other] ? held[other] - held[n] : loads[n] - loads[other];
    }

    CostEstimator estimator(KindModel kind) {
      if (estimator.kind() != kind) {
        estimator.about(kind, request.prefix(), now);
      }
      return estimator;
    }
  }
}

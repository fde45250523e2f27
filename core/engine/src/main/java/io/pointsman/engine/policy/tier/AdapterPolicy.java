package io.pointsman.engine.policy.tier;

import io.pointsman.engine.env.RandomSource;
import io.pointsman.engine.fleet.LoadRange;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.PickReason;
import io.pointsman.engine.policy.PickResult;
import io.pointsman.engine.policy.Picker;
import io.pointsman.engine.policy.Policy;
import io.pointsman.engine.policy.RoutingRequest;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Prefers workers that have the requested adapter loaded, around any policy, which chooses among
 * them. If none is available, or all exceed the permitted load gap, another worker loads the
 * adapter. It is the worker with the fewest adapters, then the least loaded (Ray Serve's
 * multiplexed models). Requests without an adapter use only the policy.
 */
public final class AdapterPolicy implements Policy {
  /** Maximum number of pickers for each pool, one for each set of holders. */
  private static final int MOST_PICKERS = 512;

  private final Policy inner;
  private final AdapterTable table;
  private final AdapterSettings settings;
  private final RandomSource random;

  /** Serialises calls of the policy, as {@link Policy} requires. */
  private final ReentrantLock building = new ReentrantLock();

  /**
   * @param table must be one of the engine's learners and follow its fleet
   */
  public AdapterPolicy(
      Policy inner, AdapterTable table, AdapterSettings settings, RandomSource random) {
    this.inner = inner;
    this.table = table;
    this.settings = settings;
    this.random = random;
  }

  @Override
  public Picker picker(Pool pool) {
    building.lock();
    try {
      return new AdapterPicker(pool, inner.picker(pool));
    } finally {
      building.unlock();
    }
  }

  /** The holders of an adapter in a pool, and their picker. */
  private record Holding(Pool pool, Picker picker) {}

  private final class AdapterPicker implements Picker {
    private final Pool pool;
    private final Picker all;

    /** Keyed by the set of holders, because many adapters have the same holders. */
    private final RecentMap<Set<Worker>, Holding> holdings = new RecentMap<>(MOST_PICKERS);

    AdapterPicker(Pool pool, Picker all) {
      this.pool = pool;
      this.all = all;
    }

    @Override
    public @Nullable Worker pick(RoutingRequest request, long now) {
      String adapter = AdapterTable.asked(request);
      if (adapter == null) {
        return all.pick(request, now);
      }
      Set<Worker> holders = table.holders(adapter);
      Holding holding = holders.isEmpty() ? null : holding(holders);
      if (holding == null || holding.pool.isEmpty()) {
        return newHolder(Set.of(), request, now);
      }
      if (!busier(holding, request, now)) {
        Worker worker = within(holding, request, now);
        if (worker != null && request.admits(worker, now)) {
          return worker;
        }
      }
      Worker other = newHolder(holders, request, now);
      return other != null ? other : within(holding, request, now);
    }

    /** The choice is final, because other workers may have room although the holders are full. */
    private static @Nullable Worker within(Holding holding, RoutingRequest request, long now) {
      Worker worker = holding.picker.pick(request, now);
      request.picked(request.result().goesAtOnce());
      return worker;
    }

    private Holding holding(Set<Worker> holders) {
      Holding kept = holdings.get(holders);
      if (kept != null) {
        return kept;
      }
      Pool having = pool.only(holders::contains);
      if (having.isEmpty() || having.size() == pool.size()) {
        Holding whole = new Holding(having, all);
        holdings.put(holders, whole);
        return whole;
      }
      return built(holders, having);
    }

    /** If another thread is building a picker, this request uses least load instead of waiting. */
    private Holding built(Set<Worker> holders, Pool having) {
      if (!building.tryLock()) {
        return new Holding(having, byLoad(having));
      }
      try {
        Holding made = new Holding(having, inner.picker(having));
        holdings.put(holders, made);
        return made;
      } finally {
        building.unlock();
      }
    }

    private Picker byLoad(Pool having) {
      return (request, now) -> {
        request.picked(PickResult.of(PickReason.LEAST_LOAD));
        return having.leastLoaded(now, request.tried(), random);
      };
    }

    private boolean busier(Holding holding, RoutingRequest request, long now) {
      if (settings.maxLoadGap() == 0) {
        return false;
      }
      LoadRange own = holding.pool.loadRange(now, request.tried());
      if (own == null || own.least() <= settings.maxLoadGap()) {
        return own == null;
      }
      LoadRange any = pool.loadRange(now, request.tried());
      return any != null && own.least() - any.least() > settings.maxLoadGap();
    }

    /** Returns the worker that loads the adapter; null if only holders are available. */
    private @Nullable Worker newHolder(Set<Worker> holders, RoutingRequest request, long now) {
      Worker chosen = null;
      int fewest = 0;
      int least = 0;
      int i = pool.isEmpty() ? 0 : random.roll(pool.size());
      for (int n = 0; n < pool.size(); n++, i = i + 1 == pool.size() ? 0 : i + 1) {
        Worker worker = pool.worker(i);
        int load = pool.loadIfEligible(i, now, request.tried());
        if (load == Pool.NOT_ELIGIBLE || holders.contains(worker)) {
          continue;
        }
        int adapters = table.count(worker);
        boolean better = adapters < fewest || (adapters == fewest && load < least);
        if (chosen == null || better) {
          chosen = worker;
          fewest = adapters;
          least = load;
        }
      }
      if (chosen != null) {
        request.picked(PickResult.of(PickReason.LEAST_LOAD));
      }
      return chosen;
    }
  }
}

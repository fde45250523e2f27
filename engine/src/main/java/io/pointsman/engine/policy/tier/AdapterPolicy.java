package io.pointsman.engine.policy.tier;

import io.pointsman.engine.env.Dice;
import io.pointsman.engine.fleet.LoadRange;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.PickReason;
import io.pointsman.engine.policy.Picker;
import io.pointsman.engine.policy.Policy;
import io.pointsman.engine.policy.RoutingRequest;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Workers that have the adapter loaded first, around any policy, which chooses among them. When
 * none of them can be had, or all are busier than others by more than the gap that is allowed, the
 * worker with the fewest adapters loads it, among equals the least loaded (Ray Serve's multiplexed
 * models). Requests without an adapter are the policy's alone.
 */
public final class AdapterPolicy implements Policy {
  /** Pickers that are kept for each pool, one for each set of workers that have an adapter. */
  private static final int MOST_PICKERS = 512;

  private final Policy inner;
  private final AdapterTable table;
  private final AdapterSettings settings;
  private final Dice dice;

  /** One picker is built at a time, as a policy may expect. */
  private final ReentrantLock building = new ReentrantLock();

  /**
   * @param table to be one of the engine's learners, and to follow its fleet
   */
  public AdapterPolicy(Policy inner, AdapterTable table, AdapterSettings settings, Dice dice) {
    this.inner = inner;
    this.table = table;
    this.settings = settings;
    this.dice = dice;
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

  /** The workers of a pool that have an adapter, and who chooses among them. */
  private record Holding(Pool pool, Picker picker) {}

  private final class AdapterPicker implements Picker {
    private final Pool pool;
    private final Picker all;

    /** Many adapters are on the same workers: by these, not by the adapter. */
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

    /** It may be that only those with the adapter are full. */
    private static @Nullable Worker within(Holding holding, RoutingRequest request, long now) {
      Worker worker = holding.picker.pick(request, now);
      request.notes().goesAtOnce();
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

    /** Nobody waits for a picker that another thread builds: this request goes by load. */
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
        request.notes().because(PickReason.LEAST_LOAD);
        return having.leastLoaded(now, request.tried(), dice);
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

    /** Who is to load the adapter; null if nobody but its holders can be had. */
    private @Nullable Worker newHolder(Set<Worker> holders, RoutingRequest request, long now) {
      Worker chosen = null;
      int fewest = 0;
      int least = 0;
      int i = pool.isEmpty() ? 0 : dice.roll(pool.size());
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
        request.notes().because(PickReason.LEAST_LOAD);
      }
      return chosen;
    }
  }
}

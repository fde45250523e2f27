package io.pointsman.engine.policy.tier;

import io.pointsman.engine.fleet.LoadRange;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.engine.policy.Picker;
import io.pointsman.engine.policy.Policy;
import io.pointsman.engine.policy.RoutingRequest;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Prefers near workers, around any policy: those on the router's node, then those in its zone, then
 * the rest. The policy chooses within a tier. The next tier is used if the nearer one has no
 * available worker or exceeds the permitted load gap. Ray Serve's locality ranks consider only
 * whether workers are full. All tiers use the same learned state.
 */
public final class LocalityPolicy implements Policy {
  private static final int TIERS = 3;

  private final Policy inner;
  private final LocalitySettings settings;

  public LocalityPolicy(Policy inner, LocalitySettings settings) {
    this.inner = inner;
    this.settings = settings;
  }

  /** Equally near workers and their picker. */
  private record Tier(Pool pool, Picker picker) {}

  @Override
  public Picker picker(Pool pool) {
    List<Tier> tiers = new ArrayList<>(TIERS);
    for (int distance = 0; distance < TIERS; distance++) {
      int wanted = distance;
      Pool near = pool.only(worker -> distance(worker) == wanted);
      if (!near.isEmpty()) {
        tiers.add(new Tier(near, inner.picker(near)));
      }
    }
    return switch (tiers.size()) {
      case 0 -> inner.picker(pool);
      case 1 -> tiers.getFirst().picker;
      default -> (request, now) -> pick(tiers, request, now);
    };
  }

  /** Returns 0 for the same node, 1 for the same zone, 2 otherwise or if unknown. */
  private int distance(Worker worker) {
    var labels = worker.spec().labels();
    if (!settings.node().isEmpty() && settings.node().equals(labels.get(WorkerSpec.NODE_LABEL))) {
      return 0;
    }
    return !settings.zone().isEmpty() && settings.zone().equals(labels.get(WorkerSpec.ZONE_LABEL))
        ? 1
        : 2;
  }

  private @Nullable Worker pick(List<Tier> tiers, RoutingRequest request, long now) {
    boolean passed = false;
    for (int i = 0; i < tiers.size(); i++) {
      if (busier(tiers, i, request, now)) {
        passed = true;
        continue;
      }
      Worker worker = within(tiers.get(i), request, now);
      if (worker != null) {
        return worker;
      }
    }
    return passed ? nearest(tiers, request, now) : null;
  }

  private static @Nullable Worker nearest(List<Tier> tiers, RoutingRequest request, long now) {
    for (Tier tier : tiers) {
      Worker worker = within(tier, request, now);
      if (worker != null) {
        return worker;
      }
    }
    return null;
  }

  private static @Nullable Worker within(Tier tier, RoutingRequest request, long now) {
    Worker worker = tier.picker.pick(request, now);
    // The choice is final, because far workers may have room although the near ones are full.
    request.picked(request.result().goesAtOnce());
    return worker != null && request.admits(worker, now) ? worker : null;
  }

  /** Returns true if a tier exceeds the permitted load gap over a farther one. */
  private boolean busier(List<Tier> tiers, int index, RoutingRequest request, long now) {
    if (settings.maxLoadGap() == 0 || index == tiers.size() - 1) {
      return false;
    }
    LoadRange own = tiers.get(index).pool.loadRange(now, request.tried());
    if (own == null || own.least() <= settings.maxLoadGap()) {
      return own == null;
    }
    for (Tier further : tiers.subList(index + 1, tiers.size())) {
      LoadRange other = further.pool.loadRange(now, request.tried());
      if (other != null && own.least() - other.least() > settings.maxLoadGap()) {
        return true;
      }
    }
    return false;
  }
}

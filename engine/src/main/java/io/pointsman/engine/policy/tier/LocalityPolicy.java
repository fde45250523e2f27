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
 * Near workers first, around any policy: those on the router's node, then those in its zone, then
 * the rest. The policy chooses within a tier; the next tier is asked when nobody of the nearer one
 * can be had, or when that is busier by more than the gap that is allowed (Ray Serve's locality
 * ranks, which go by fullness alone). What the policy has learned is the same for all tiers.
 */
public final class LocalityPolicy implements Policy {
  private static final int TIERS = 3;

  private final Policy inner;
  private final LocalitySettings settings;

  public LocalityPolicy(Policy inner, LocalitySettings settings) {
    this.inner = inner;
    this.settings = settings;
  }

  /** Workers that are equally near, and the picker over them. */
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

  /** 0 on the same node, 1 in the same zone, 2 elsewhere or not known. */
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
    // It may be that only the near ones are full.
    request.notes().goesAtOnce();
    return worker != null && request.admits(worker, now) ? worker : null;
  }

  /** Whether a tier is busier than one behind it by more than is allowed. */
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

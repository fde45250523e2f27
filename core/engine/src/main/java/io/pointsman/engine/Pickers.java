package io.pointsman.engine;

import io.pointsman.engine.fleet.FleetSnapshot;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.policy.Picker;
import io.pointsman.engine.policy.Policy;
import io.pointsman.engine.policy.RoutingRequest;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** One picker for each pool of one snapshot. Immutable. */
final class Pickers {
  /**
   * A pool and the picker that {@code policy} built over it.
   *
   * @param made false if the policy failed to build a picker; the picker then chooses no worker
   */
  record PooledPicker(Pool pool, Policy policy, Picker picker, boolean made) {
    static PooledPicker of(Pool pool, Policy policy, @Nullable Picker made) {
      return new PooledPicker(pool, policy, made == null ? (_, _) -> null : made, made != null);
    }
  }

  private final FleetSnapshot snapshot;
  private final Map<Role, PooledPicker> byRole = new EnumMap<>(Role.class);
  private final Map<Role, PooledPicker> ofAnyModel = new EnumMap<>(Role.class);
  private final Map<Role, Map<String, PooledPicker>> byModel = new EnumMap<>(Role.class);

  /**
   * Pools for adapters that only some workers of their base model list: all workers of the base
   * model.
   */
  private final Map<Role, Map<String, PooledPicker>> ofBase = new EnumMap<>(Role.class);

  /**
   * Builds pickers for the pools that are new in {@code snapshot}. Keeps the pickers of pools that
   * the previous snapshot had too, unless their construction failed.
   *
   * @param build builds a picker, or returns null if that fails
   */
  Pickers(
      FleetSnapshot snapshot,
      @Nullable Pickers before,
      StagePolicies policies,
      BiFunction<Policy, Pool, @Nullable Picker> build) {
    this.snapshot = snapshot;
    IdentityHashMap<Pool, IdentityHashMap<Policy, PooledPicker>> kept = new IdentityHashMap<>();
    if (before != null) {
      before.forEach(
          pooled -> {
            if (pooled.made) {
              of(kept, pooled.pool).put(pooled.policy, pooled);
            }
          });
    }
    BiFunction<Policy, Pool, PooledPicker> pickerFor =
        (policy, pool) ->
            of(kept, pool)
                .computeIfAbsent(policy, p -> PooledPicker.of(pool, p, build.apply(p, pool)));
    for (Role role : Role.values()) {
      Policy usual = policies.of(role, null).policy();
      byRole.put(role, pickerFor.apply(usual, snapshot.pool(role)));
      Map<String, PooledPicker> models = new HashMap<>();
      snapshot
          .models(role)
          .forEach(
              (model, pool) ->
                  models.put(model, pickerFor.apply(policies.of(role, model).policy(), pool)));
      byModel.put(role, models);
      ofBase.put(role, widened(models));
      Pool any = snapshot.ofAnyModel(role);
      if (any != null) {
        ofAnyModel.put(role, pickerFor.apply(usual, any));
        for (String model : policies.byModel().keySet()) {
          models.computeIfAbsent(model, m -> pickerFor.apply(policies.of(role, m).policy(), any));
        }
      }
    }
  }

  /** Compares policies by identity. */
  private static IdentityHashMap<Policy, PooledPicker> of(
      IdentityHashMap<Pool, IdentityHashMap<Policy, PooledPicker>> kept, Pool pool) {
    return kept.computeIfAbsent(pool, _ -> new IdentityHashMap<>());
  }

  private static Map<String, PooledPicker> widened(Map<String, PooledPicker> models) {
    Map<String, PooledPicker> widened = new HashMap<>();
    models.forEach(
        (model, listing) -> {
          int colon = model.indexOf(':');
          PooledPicker base = colon < 0 ? null : models.get(model.substring(0, colon));
          if (base != null && base.pool.workers().containsAll(listing.pool.workers())) {
            widened.put(model, base);
          }
        });
    return widened;
  }

  private void forEach(Consumer<PooledPicker> action) {
    byRole.values().forEach(action);
    ofAnyModel.values().forEach(action);
    byModel.values().forEach(models -> models.values().forEach(action));
  }

  FleetSnapshot snapshot() {
    return snapshot;
  }

  /** Returns the picker for the request; null if no worker is known to serve its model. */
  @Nullable PooledPicker forRequest(RoutingRequest request, UnknownModel unknown) {
    return forModel(request.role(), request.model(), unknown);
  }

  /**
   * Returns the picker of a role for a model.
   *
   * @param model null if any worker qualifies
   */
  @Nullable PooledPicker forModel(Role role, @Nullable String model, UnknownModel unknown) {
    PooledPicker any = byRole.get(role);
    if (model == null) {
      return any;
    }
    Map<String, PooledPicker> models = byModel.get(role);
    PooledPicker found = models == null ? null : models.get(model);
    if (found != null) {
      return unknown == UnknownModel.BASE_MODEL ? widest(role, model, found) : found;
    }
    return switch (unknown) {
      case ANY_WORKER -> any;
      case BASE_MODEL -> ofBase(model, models, role);
      case REJECT -> ofAnyModel.get(role);
    };
  }

  private PooledPicker widest(Role role, String model, PooledPicker listing) {
    Map<String, PooledPicker> widened = ofBase.get(role);
    return widened == null ? listing : widened.getOrDefault(model, listing);
  }

  private @Nullable PooledPicker ofBase(
      String model, @Nullable Map<String, PooledPicker> models, Role role) {
    int colon = model.indexOf(':');
    PooledPicker base = models == null || colon < 0 ? null : models.get(model.substring(0, colon));
    return base == null ? ofAnyModel.get(role) : base;
  }
}

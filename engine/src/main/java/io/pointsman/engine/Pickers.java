package io.pointsman.engine;

import io.pointsman.engine.fleet.FleetSnapshot;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.policy.Picker;
import io.pointsman.engine.policy.RoutingRequest;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** A picker for each pool of one snapshot. Immutable. */
final class Pickers {
  /** A pool and the picker over it. */
  record PooledPicker(Pool pool, Picker picker) {}

  private final FleetSnapshot snapshot;
  private final Map<Role, PooledPicker> byRole = new EnumMap<>(Role.class);
  private final Map<Role, PooledPicker> ofAnyModel = new EnumMap<>(Role.class);
  private final Map<Role, Map<String, PooledPicker>> byModel = new EnumMap<>(Role.class);

  /**
   * Builds pickers for the pools that are new in {@code snapshot} and keeps those of the pools that
   * it shares with the one before.
   */
  Pickers(FleetSnapshot snapshot, @Nullable Pickers before, BiFunction<Role, Pool, Picker> build) {
    this.snapshot = snapshot;
    IdentityHashMap<Pool, PooledPicker> kept = new IdentityHashMap<>();
    if (before != null) {
      before.forEach(pooled -> kept.put(pooled.pool, pooled));
    }
    for (Role role : Role.values()) {
      Function<Pool, PooledPicker> pickerFor =
          pool -> kept.computeIfAbsent(pool, p -> new PooledPicker(p, build.apply(role, p)));
      byRole.put(role, pickerFor.apply(snapshot.pool(role)));
      Map<String, PooledPicker> models = new HashMap<>();
      snapshot.models(role).forEach((model, pool) -> models.put(model, pickerFor.apply(pool)));
      byModel.put(role, models);
      Pool any = snapshot.ofAnyModel(role);
      if (any != null) {
        ofAnyModel.put(role, pickerFor.apply(any));
      }
    }
  }

  private void forEach(Consumer<PooledPicker> action) {
    byRole.values().forEach(action);
    ofAnyModel.values().forEach(action);
    byModel.values().forEach(models -> models.values().forEach(action));
  }

  FleetSnapshot snapshot() {
    return snapshot;
  }

  /** The picker to ask; null if no worker is known to serve the request's model. */
  @Nullable PooledPicker forRequest(RoutingRequest request, UnknownModel unknown) {
    return forModel(request.role(), request.model(), unknown);
  }

  /**
   * The picker of a role for a model.
   *
   * @param model null if any worker will do
   */
  @Nullable PooledPicker forModel(Role role, @Nullable String model, UnknownModel unknown) {
    PooledPicker any = byRole.get(role);
    if (model == null) {
      return any;
    }
    Map<String, PooledPicker> models = byModel.get(role);
    PooledPicker found = models == null ? null : models.get(model);
    if (found != null) {
      return found;
    }
    return switch (unknown) {
      case ANY_WORKER -> any;
      case BASE_MODEL -> ofBase(model, models, role);
      case REJECT -> ofAnyModel.get(role);
    };
  }

  private @Nullable PooledPicker ofBase(
      String model, @Nullable Map<String, PooledPicker> models, Role role) {
    int colon = model.indexOf(':');
    PooledPicker base = models == null || colon < 0 ? null : models.get(model.substring(0, colon));
    return base == null ? ofAnyModel.get(role) : base;
  }
}

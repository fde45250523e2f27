package io.pointsman.engine;

import io.pointsman.engine.fleet.FleetSnapshot;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Models whose last workers have left the fleet, as when their pods are replaced or scaled to zero:
 * they are missed, not unknown. A model that a worker stops to serve while it stays is not.
 * Followed by one thread at a time, asked by any.
 */
final class MissedModels {
  /** Names kept at most; the oldest go first. */
  static final int MOST = 1024;

  private record Missed(Role role, String model) {}

  private volatile Set<Missed> missed = Set.of();

  /** Takes note of what has changed from one snapshot to the next. */
  void follow(FleetSnapshot before, FleetSnapshot now) {
    Set<Worker> present = new HashSet<>(now.workers());
    LinkedHashSet<Missed> next = new LinkedHashSet<>(missed);
    for (Worker worker : before.workers()) {
      if (!present.contains(worker)) {
        Role role = worker.spec().role();
        before.models(worker).names().forEach(model -> next.add(new Missed(role, model)));
      }
    }
    next.removeIf(each -> now.models(each.role).containsKey(each.model));
    while (next.size() > MOST) {
      next.removeFirst();
    }
    if (!next.equals(missed)) {
      missed = next;
    }
  }

  /** Whether workers of this role have left that served the model, or the base of an adapter. */
  boolean contains(Role role, @Nullable String model) {
    if (model == null) {
      return false;
    }
    int colon = model.indexOf(':');
    return missed.contains(new Missed(role, model))
        || (colon > 0 && missed.contains(new Missed(role, model.substring(0, colon))));
  }
}

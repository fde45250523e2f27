package io.pointsman.engine;

import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.FleetSnapshot;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import java.time.Duration;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Models whose last workers have left the fleet, as when their pods are replaced or scaled to zero:
 * they are missed, not unknown, for a day. A model that a worker stops to serve while it stays is
 * not. Followed by one thread at a time, asked by any.
 */
final class MissedModels {
  /** Names kept at most; the oldest go first. */
  static final int MOST = 1024;

  /**
   * How long a name is kept behind its last worker: what is scaled to zero overnight is missed in
   * the morning, what is gone for good is unknown on the next day.
   */
  static final Duration KEPT = Duration.ofHours(24);

  private record Missed(Role role, String model) {}

  private final Ticker ticker;

  /** Since when, in nanoseconds; the oldest first. */
  private volatile Map<Missed, Long> missed = Map.of();

  MissedModels(Ticker ticker) {
    this.ticker = ticker;
  }

  /** Takes note of what has changed from one snapshot to the next. */
  void follow(FleetSnapshot before, FleetSnapshot now) {
    long nanos = ticker.nanos();
    Set<Worker> present = new HashSet<>(now.workers());
    LinkedHashMap<Missed, Long> next = new LinkedHashMap<>(missed);
    for (Worker worker : before.workers()) {
      if (!present.contains(worker)) {
        Role role = worker.spec().role();
        before
            .models(worker)
            .names()
            .forEach(model -> next.putLast(new Missed(role, model), nanos));
      }
    }
    next.keySet().removeIf(each -> now.models(each.role).containsKey(each.model));
    next.values().removeIf(since -> past(since, nanos));
    while (next.size() > MOST) {
      next.pollFirstEntry();
    }
    if (!next.equals(missed)) {
      missed = next;
    }
  }

  private static boolean past(long since, long nanos) {
    return nanos - since > KEPT.toNanos();
  }

  /**
   * Whether workers of this role have left, not too long ago, that served the model, or the base of
   * an adapter.
   */
  boolean contains(Role role, @Nullable String model) {
    if (model == null) {
      return false;
    }
    int colon = model.indexOf(':');
    return contains(new Missed(role, model))
        || (colon > 0 && contains(new Missed(role, model.substring(0, colon))));
  }

  private boolean contains(Missed name) {
    Long since = missed.get(name);
    return since != null && !past(since, ticker.nanos());
  }
}

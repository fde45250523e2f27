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
 * Models that lost their last workers less than 24 hours ago, for example by a scale to zero. Such
 * a model is temporarily unavailable, not unknown. A model that a present worker stops serving is
 * not included. One thread at a time calls {@link #follow}; any thread may query.
 */
final class MissedModels {
  /** Maximum number of names. The oldest are removed first. */
  static final int MOST = 1024;

  /**
   * Time a name is kept after its last worker left. A model scaled to zero overnight is still known
   * in the morning.
   */
  static final Duration KEPT = Duration.ofHours(24);

  private record Missed(Role role, String model) {}

  private final Ticker ticker;

  /** Departure time of the last worker in ticker nanoseconds, oldest first. */
  private volatile Map<Missed, Long> missed = Map.of();

  MissedModels(Ticker ticker) {
    this.ticker = ticker;
  }

  /** Records the differences between two consecutive snapshots. */
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
   * Returns true if a worker of this role that served the model, or the base of an adapter, left
   * within the last 24 hours.
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

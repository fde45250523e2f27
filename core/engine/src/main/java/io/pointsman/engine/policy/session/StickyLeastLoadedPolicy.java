package io.pointsman.engine.policy.session;

import io.pointsman.engine.env.RandomSource;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.LeastLoadPolicy;
import io.pointsman.engine.policy.PickReason;
import io.pointsman.engine.policy.PickResult;
import io.pointsman.engine.policy.Picker;
import io.pointsman.engine.policy.Policy;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.session.Session.Home;
import java.util.HashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The policy {@code sticky_least_loaded}: a session stays with its worker while that worker is
 * eligible. A new session goes to the worker with the fewest sessions. Ties are broken by requests
 * in flight, then at random. Requests without a session go to the least loaded worker.
 *
 * <p>A retry that must avoid the session's worker goes elsewhere once, and the session stays.
 */
public final class StickyLeastLoadedPolicy implements Policy {
  private final SessionTable sessions;
  private final RandomSource random;

  public StickyLeastLoadedPolicy(SessionTable sessions, RandomSource random) {
    this.sessions = sessions;
    this.random = random;
  }

  @Override
  public Picker picker(Pool pool) {
    Home[] homes = pool.workers().stream().map(sessions::home).toArray(Home[]::new);
    return new StickyPicker(pool, new HashSet<>(pool.workers()), homes);
  }

  private final class StickyPicker implements Picker {
    private final Pool pool;
    private final Set<Worker> members;
    private final Home[] homes;

    StickyPicker(Pool pool, Set<Worker> members, Home[] homes) {
      this.pool = pool;
      this.members = members;
      this.homes = homes;
    }

    @Override
    public @Nullable Worker pick(RoutingRequest request, long now) {
      if (!SessionTable.concerns(request)) {
        return LeastLoadPolicy.pick(pool, request, now, random);
      }
      Worker bound = sessions.boundWorker(request, now);
      if (bound == null || !members.contains(bound) || !bound.eligible(now)) {
        return bind(request, now);
      }
      if (!request.admits(bound, now)) {
        return LeastLoadPolicy.pick(pool, request, now, random);
      }
      request.picked(PickResult.of(PickReason.STICKY_HIT));
      return bound;
    }

    private @Nullable Worker bind(RoutingRequest request, long now) {
      Home target = fewestSessions(request, now);
      if (target == null) {
        return null;
      }
      Worker bound = sessions.bind(request, target, members, now);
      if (bound == null) {
        return LeastLoadPolicy.pick(pool, request, now, random);
      }
      request.picked(PickResult.of(PickReason.STICKY_BIND));
      return bound;
    }

    private @Nullable Home fewestSessions(RoutingRequest request, long now) {
      long fewest = Long.MAX_VALUE;
      int ties = 0;
      Home found = null;
      for (int i = 0; i < homes.length; i++) {
        long burden = burden(i, request, now);
        if (burden > fewest || burden == Long.MAX_VALUE) {
          continue;
        }
        ties = burden < fewest ? 1 : ties + 1;
        fewest = burden;
        // The n-th of n equals replaces the one found before with probability 1/n.
        found = ties == 1 || random.roll(ties) == 0 ? homes[i] : found;
      }
      return found;
    }

    /** Orders by sessions, then requests in flight; the maximum for an ineligible worker. */
    private long burden(int index, RoutingRequest request, long now) {
      int load = pool.loadIfEligible(index, now, request.tried());
      return load == Pool.NOT_ELIGIBLE
          ? Long.MAX_VALUE
          : ((long) homes[index].sessions() << 32) | load;
    }
  }
}

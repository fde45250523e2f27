package io.pointsman.engine.policy.session;

import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.PickReason;
import io.pointsman.engine.policy.PickResult;
import io.pointsman.engine.policy.Picker;
import io.pointsman.engine.policy.Policy;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.session.Session.Home;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Session affinity around any policy. The policy chooses the worker for a new session, for a
 * session that must move, and for requests without a session. The rules are those of vllm-router
 * 0.1.17's session affinity.
 *
 * <p>A session moves permanently when its worker becomes ineligible. A retry that must avoid the
 * session's worker goes elsewhere once, and the session stays.
 */
public final class SessionAffinity implements Policy {
  /** The effect of load on sessions. */
  public enum Mode {
    /** No affinity. */
    OFF,
    /** A session moves when its worker has at least its fair share of all requests in flight. */
    SOFT,
    /**
     * Load never moves a session. While its worker is at its limit, other workers serve its
     * requests.
     */
    HARD
  }

  private final Policy policy;
  private final SessionTable sessions;
  private final boolean hard;

  /**
   * @param mode not OFF
   */
  public SessionAffinity(Policy policy, SessionTable sessions, Mode mode) {
    this.policy = policy;
    this.sessions = sessions;
    hard =
        switch (mode) {
          case HARD -> true;
          case SOFT -> false;
          case OFF -> throw new IllegalArgumentException("mode: OFF (expected: SOFT or HARD)");
        };
  }

  @Override
  public Picker picker(Pool pool) {
    Map<Worker, Home> homes = new HashMap<>();
    pool.workers().forEach(worker -> homes.put(worker, sessions.home(worker)));
    return new BindingPicker(pool, policy.picker(pool), homes);
  }

  private final class BindingPicker implements Picker {
    private final Pool pool;
    private final Picker others;
    private final Map<Worker, Home> homes;

    BindingPicker(Pool pool, Picker others, Map<Worker, Home> homes) {
      this.pool = pool;
      this.others = others;
      this.homes = homes;
    }

    @Override
    public @Nullable Worker pick(RoutingRequest request, long now) {
      if (!SessionTable.concerns(request)) {
        return others.pick(request, now);
      }
      Worker bound = sessions.boundWorker(request, now);
      if (bound == null || !homes.containsKey(bound)) {
        return bind(request, now);
      }
      if (request.tried().contains(bound) || (hard && bound.merelyBusy(now))) {
        return elsewhere(request, PickReason.STICKY_BYPASS, now);
      }
      if (!bound.eligible(now)) {
        return bind(request, now);
      }
      if (hard || withinShare(bound, request, now)) {
        request.picked(PickResult.of(PickReason.STICKY_HIT));
        return bound;
      }
      return move(request, bound, now);
    }

    /** Picks by the policy and records a session reason. */
    private @Nullable Worker elsewhere(RoutingRequest request, PickReason reason, long now) {
      Worker chosen = others.pick(request, now);
      if (chosen != null) {
        request.picked(request.result().instead(reason));
      }
      return chosen;
    }

    private @Nullable Worker bind(RoutingRequest request, long now) {
      Worker chosen = others.pick(request, now);
      Home home = chosen == null ? null : homes.get(chosen);
      if (home == null) {
        return chosen;
      }
      Worker bound = sessions.bind(request, home, homes.keySet(), now);
      if (bound == null) {
        request.picked(request.result().instead(PickReason.STICKY_FULL));
        return home.worker();
      }
      if (bound == home.worker()) {
        request.picked(request.result().instead(PickReason.STICKY_BIND));
      } else {
        request.picked(PickResult.of(PickReason.STICKY_HIT));
      }
      return bound;
    }

    private @Nullable Worker move(RoutingRequest request, Worker from, long now) {
      Worker chosen = others.pick(request, now);
      Home home = chosen == null ? null : homes.get(chosen);
      if (home == null) {
        return chosen;
      }
      Worker next = home.worker();
      if (next != from) {
        sessions.move(request, from, home);
      }
      request.picked(
          request.result().instead(next == from ? PickReason.STICKY_HIT : PickReason.STICKY_MOVE));
      return next;
    }

    /**
     * Returns true if the worker's load is below its share of all requests including this one,
     * rounded up.
     */
    private boolean withinShare(Worker bound, RoutingRequest request, long now) {
      long sum = 1;
      int workers = 0;
      for (int i = 0; i < pool.size(); i++) {
        int load = pool.loadIfEligible(i, now, request.tried());
        if (load != Pool.NOT_ELIGIBLE) {
          sum += load;
          workers++;
        }
      }
      return bound.load() < Math.ceilDiv(sum, Math.max(1, workers));
    }
  }
}

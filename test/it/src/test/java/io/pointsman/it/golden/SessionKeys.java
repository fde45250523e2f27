package io.pointsman.it.golden;

import io.pointsman.engine.fleet.LeaseView;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.AffinityKey;
import io.pointsman.engine.policy.Learner;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.catalog.PolicySetup;
import io.pointsman.tool.replay.run.PolicyMaker;
import io.pointsman.tool.replay.trace.Trace;
import io.pointsman.tool.replay.trace.TraceRequest;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;

/**
 * Adds a session header to the requests of a replay, for policies that use sessions. Used by one
 * thread.
 */
final class SessionKeys {
  /** By the hash of the whole prompt. */
  private final Map<Long, String> sessions = new HashMap<>();

  private final IdentityHashMap<RoutingRequest, RoutingRequest> keyed = new IdentityHashMap<>();

  private SessionKeys(Trace trace) {
    List<TraceRequest> requests = trace.requests();
    for (int i = 0; i < requests.size(); i++) {
      TraceRequest request = requests.get(i);
      String own = "session-" + i;
      String session = request.follows() < 0 ? own : sessionOf(requests.get(request.follows()));
      sessions.put(last(request), session);
    }
  }

  /** The same policy over requests with sessions. Not for policies that follow first tokens. */
  static PolicyMaker over(Trace trace, PolicyMaker policy) {
    return (parts, view) -> new SessionKeys(trace).keyed(policy.make(parts, view));
  }

  private PolicySetup keyed(PolicySetup setup) {
    return new PolicySetup(
        pool -> {
          var picker = setup.policy().picker(pool);
          return (request, now) -> picker.pick(keyed(request), now);
        },
        setup.learners().stream().<Learner>map(KeyedLearner::new).toList());
  }

  private RoutingRequest keyed(RoutingRequest request) {
    RoutingRequest known = keyed.computeIfAbsent(request, this::withSession);
    request.tried().forEach(known::exclude);
    return known;
  }

  private RoutingRequest withSession(RoutingRequest request) {
    String session = sessions.getOrDefault(request.prefix().whole(), "nobody");
    return RoutingRequest.builder()
        .model(request.model())
        .prefix(request.prefix())
        .affinity(new AffinityKey(AffinityKey.Kind.SESSION, "header:x-session-id", session))
        .build();
  }

  private String sessionOf(TraceRequest request) {
    return sessions.getOrDefault(last(request), "nobody");
  }

  private static long last(TraceRequest request) {
    return request.blocks()[request.blocks().length - 1];
  }

  /** Passes each event on, with the request that has a session. */
  private final class KeyedLearner implements Learner {
    private final Learner learner;

    KeyedLearner(Learner learner) {
      this.learner = learner;
    }

    @Override
    public void placed(RoutingRequest request, LeaseView lease) {
      learner.placed(keyed(request), lease);
    }

    @Override
    public void ended(RoutingRequest request, LeaseView lease, Outcome outcome) {
      learner.ended(keyed(request), lease, outcome);
    }

    @Override
    public void forget(Worker worker) {
      learner.forget(worker);
    }
  }
}

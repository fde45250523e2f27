package io.pointsman.it.golden;

import io.pointsman.engine.policy.catalog.Policies;
import io.pointsman.engine.policy.catalog.PolicySettings;
import io.pointsman.engine.policy.cost.CostSettings;
import io.pointsman.engine.policy.session.SessionAffinity;
import io.pointsman.tool.replay.peer.ReplayPolicies;
import io.pointsman.tool.replay.run.PolicyMaker;
import io.pointsman.tool.replay.run.SimulationSettings;
import io.pointsman.tool.replay.run.SimulationSettings.Announcements;
import io.pointsman.tool.replay.run.SimulationSettings.Change;
import io.pointsman.tool.replay.trace.Trace;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * Every decision of every policy on small workloads in simulated time. Each policy has a line: a
 * hash of its decisions, and the number of requests by worker.
 */
final class GoldenDecisionsTest {
  private static final int WORKERS = 4;

  /** KV memory of each engine, in tokens; too small for all prompts. */
  private static final int KV_TOKENS = 60_000;

  private static SimulationSettings settings(
      @Nullable Announcements announcements, Map<Integer, Double> slow, Change... changes) {
    CostSettings cost = CostSettings.DEFAULTS.withKvTokens(KV_TOKENS);
    PolicySettings policies = PolicySettings.DEFAULTS.withCost(cost);
    return new SimulationSettings(
        WORKERS, KV_TOKENS, slow, List.of(changes), 7, policies, announcements);
  }

  private static final SimulationSettings QUIET = settings(null, Map.of());

  private static String ofAllPolicies(Trace trace, SimulationSettings settings) {
    StringBuilder lines = new StringBuilder();
    for (String name : ReplayPolicies.names()) {
      lines.append(DecisionRecord.of(trace, ReplayPolicies.of(name), settings).line(name));
    }
    return lines.toString();
  }

  @Test
  void decisionsOnPromptsWithSharedBeginnings() {
    GoldenFile.compare("decisions-chat.txt", ofAllPolicies(GoldenTraces.chat(), QUIET));
  }

  @Test
  void decisionsOnConversations() {
    GoldenFile.compare("decisions-turns.txt", ofAllPolicies(GoldenTraces.sessions(), QUIET));
  }

  @Test
  void decisionsOnBurstsOfEqualPrompts() {
    GoldenFile.compare("decisions-burst.txt", ofAllPolicies(GoldenTraces.burst(), QUIET));
  }

  @Test
  void decisionsOnRequestsThatAreDeferredUntilThereIsRoom() {
    GoldenFile.compare("decisions-overload.txt", ofAllPolicies(GoldenTraces.overload(), QUIET));
  }

  @Test
  void decisionsByAnnouncedCachesWhileAnEngineIsSlowAndAnotherIsLost() {
    SimulationSettings disturbed =
        settings(new Announcements(0.05, 0.02), Map.of(2, 1.5), new Change(3, 1), new Change(6, 1));
    GoldenFile.compare(
        "decisions-announced.txt", ofAllPolicies(GoldenTraces.sessions(), disturbed));
  }

  @Test
  void decisionsOnRequestsThatNameTheirSession() {
    Trace trace = GoldenTraces.sessions();
    StringBuilder lines = new StringBuilder();
    for (String name : Policies.names()) {
      // These two do not use sessions; they follow first tokens, which are not passed on here.
      if (!Set.of("cost", "kv_aware").contains(name)) {
        lines.append(named(trace, name, ReplayPolicies.of(name)));
      }
    }
    for (SessionAffinity.Mode mode :
        List.of(SessionAffinity.Mode.SOFT, SessionAffinity.Mode.HARD)) {
      String label = mode == SessionAffinity.Mode.SOFT ? "soft" : "hard";
      lines.append(named(trace, "least_load, " + label, kept("least_load", mode)));
    }
    GoldenFile.compare("decisions-sessions.txt", lines.toString());
  }

  private static String named(Trace trace, String name, PolicyMaker policy) {
    return DecisionRecord.of(trace, SessionKeys.over(trace, policy), QUIET).line(name);
  }

  private static PolicyMaker kept(String name, SessionAffinity.Mode mode) {
    return (parts, _) -> {
      var settings = parts.with(parts.settings().withAffinity(mode));
      return Policies.withAffinity(Policies.create(name, settings), settings);
    };
  }
}

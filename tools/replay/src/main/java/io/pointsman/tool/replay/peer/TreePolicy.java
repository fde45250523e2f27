package io.pointsman.tool.replay.peer;

import io.pointsman.engine.env.RandomSource;
import io.pointsman.engine.fleet.LeaseView;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.Learner;
import io.pointsman.engine.policy.PickReason;
import io.pointsman.engine.policy.PickResult;
import io.pointsman.engine.policy.Picker;
import io.pointsman.engine.policy.Policy;
import io.pointsman.engine.policy.RoutingRequest;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/** Policies on a tree of the router's own placements: vllm-router's, SGLang's and Ray's. */
final class TreePolicy implements Policy, Learner {
  /** The router that defines the rules. */
  enum Rules {
    /** vllm-router 0.1.17 {@code cache_aware}: thresholds 0.3, 64, 1.5. */
    VLLM,
    /** SMG 1.13 {@code cache_aware}: a holder far above the fleet's mean is skipped. */
    SGLANG,
    /** Ray 2.60's prefix router, with its defaults. */
    RAY
  }

  private static final double THRESHOLD = 0.3;
  private static final double RAY_THRESHOLD = 0.1;
  private static final int ABSOLUTE = 64;
  private static final double RELATIVE = 1.5;

  private final Rules rules;
  private final RandomSource random;
  private final PlacementTree tree = new PlacementTree();

  TreePolicy(Rules rules, RandomSource random) {
    this.rules = rules;
    this.random = random;
  }

  @Override
  public Picker picker(Pool pool) {
    return (request, now) -> pick(pool, request, now);
  }

  private @Nullable Worker pick(Pool pool, RoutingRequest request, long now) {
    List<Worker> eligible = new ArrayList<>();
    for (Worker worker : pool.workers()) {
      if (request.admits(worker, now)) {
        eligible.add(worker);
      }
    }
    request.picked(PickResult.of(PickReason.PREFIX_MISS));
    PlacementTree.Match match = tree.match(request.prefix());
    List<Worker> holders = new ArrayList<>(eligible);
    holders.retainAll(match.workers());
    return switch (rules) {
      case VLLM -> {
        boolean follow = !unequal(eligible) && match.ratio() > THRESHOLD && !holders.isEmpty();
        yield least(follow ? holders : eligible, Worker::inFlight);
      }
      case SGLANG -> {
        holders.removeIf(worker -> farAboveMean(worker, eligible));
        boolean follow = match.ratio() > THRESHOLD && !holders.isEmpty();
        yield follow ? least(holders, Worker::inFlight) : least(eligible, Worker::inFlight);
      }
      case RAY -> {
        boolean follow = match.ratio() >= RAY_THRESHOLD && !holders.isEmpty();
        yield follow
            ? least(holders, Worker::inFlight)
            : least(smallest(eligible), _ -> random.roll(1 << 20));
      }
    };
  }

  private static boolean unequal(List<Worker> workers) {
    int most = workers.stream().mapToInt(Worker::inFlight).max().orElse(0);
    int least = workers.stream().mapToInt(Worker::inFlight).min().orElse(0);
    return most - least > ABSOLUTE && most > RELATIVE * least;
  }

  private static boolean farAboveMean(Worker worker, List<Worker> workers) {
    double mean = workers.stream().mapToInt(Worker::inFlight).average().orElse(0);
    double margin = Math.min(ABSOLUTE, Math.max(4, 2 * Math.sqrt(mean)));
    return worker.inFlight() > mean + margin && worker.inFlight() > RELATIVE * mean;
  }

  private List<Worker> smallest(List<Worker> workers) {
    long least = workers.stream().mapToLong(tree::tokens).min().orElse(0);
    return workers.stream().filter(worker -> tree.tokens(worker) == least).toList();
  }

  private static @Nullable Worker least(List<Worker> workers, ToLongFunction<Worker> of) {
    Worker chosen = null;
    long least = 0;
    for (Worker worker : workers) {
      long value = of.applyAsLong(worker);
      if (chosen == null || value < least) {
        chosen = worker;
        least = value;
      }
    }
    return chosen;
  }

  @Override
  public void placed(RoutingRequest request, LeaseView lease) {
    tree.insert(request.prefix(), lease.worker());
  }

  @Override
  public void ended(RoutingRequest request, LeaseView lease, Outcome outcome) {}

  @Override
  public void forget(Worker worker) {
    tree.forget(worker);
  }
}

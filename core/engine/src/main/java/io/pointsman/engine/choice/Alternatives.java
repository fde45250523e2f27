package io.pointsman.engine.choice;

import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.env.RandomSource;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.PickReason;
import io.pointsman.engine.policy.RoutingRequest;
import java.util.ArrayList;
import java.util.List;

/**
 * Lists further workers for an external proxy that cannot reach the chosen one and does not ask
 * again. No request is placed on them, and no learner is notified.
 */
public final class Alternatives {
  /** Maximum number of alternatives in one list. */
  public static final int MOST = 16;

  private final RoutingEngine engine;
  private final Ticker ticker;
  private final RandomSource random;

  public Alternatives(RoutingEngine engine, Ticker ticker, RandomSource random) {
    this.engine = engine;
    this.ticker = ticker;
    this.random = random;
  }

  /**
   * Returns up to {@code most} workers that could serve the request instead, best first. If the
   * policy hashed a key, these are the next workers in hash order. Otherwise they are the workers
   * with the fewest requests in flight.
   *
   * @param request the request as it was decided, including its result
   * @param most 0 to {@link #MOST}
   */
  public List<Worker> of(RoutingRequest request, Worker chosen, int most) {
    if (most <= 0) {
      return List.of();
    }
    PickReason reason = request.result().reason();
    return reason == PickReason.HASH || reason == PickReason.HASH_SPILL
        ? nextPlaces(request, chosen, most)
        : leastLoaded(request, chosen, most);
  }

  /**
   * Repeats the pick without the workers found so far. Hash policies have no state that a pick
   * changes.
   */
  private List<Worker> nextPlaces(RoutingRequest request, Worker chosen, int most) {
    RoutingRequest again = request.copy();
    again.exclude(chosen);
    List<Worker> places = new ArrayList<>(most);
    while (places.size() < most) {
      Worker next = engine.preview(again);
      if (next == null) {
        break;
      }
      places.add(next);
      again.exclude(next);
    }
    return places;
  }

  /** Starts at a random worker, so equally loaded workers alternate. */
  private List<Worker> leastLoaded(RoutingRequest request, Worker chosen, int most) {
    Pool pool = engine.pool(request.role(), request.model());
    if (pool == null) {
      return List.of();
    }
    long now = ticker.nanos();
    int[] loads = new int[most];
    List<Worker> least = new ArrayList<>(most);
    int i = random.roll(pool.size());
    for (int n = 0; n < pool.size(); n++) {
      int load = pool.loadIfEligible(i, now, request.tried());
      boolean better = least.size() < most || load < loads[most - 1];
      if (load != Pool.NOT_ELIGIBLE && better && pool.worker(i) != chosen) {
        insert(least, loads, pool.worker(i), load);
      }
      i = i + 1 == pool.size() ? 0 : i + 1;
    }
    return least;
  }

  private static void insert(List<Worker> least, int[] loads, Worker worker, int load) {
    int at = least.size();
    while (at > 0 && loads[at - 1] > load) {
      at--;
    }
    int last = Math.min(least.size(), loads.length - 1);
    System.arraycopy(loads, at, loads, at + 1, last - at);
    loads[at] = load;
    least.add(at, worker);
    if (least.size() > loads.length) {
      least.removeLast();
    }
  }
}

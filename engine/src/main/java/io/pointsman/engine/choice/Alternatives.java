package io.pointsman.engine.choice;

import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.env.Dice;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.PickReason;
import io.pointsman.engine.policy.RoutingRequest;
import java.util.ArrayList;
import java.util.List;

/**
 * The workers to try next, for a plane that cannot reach the chosen one and will not ask again.
 * Nothing is placed on them and nobody learns of them.
 */
public final class Alternatives {
  /** More are never told. */
  public static final int MOST = 16;

  private final RoutingEngine engine;
  private final Ticker ticker;
  private final Dice dice;

  public Alternatives(RoutingEngine engine, Ticker ticker, Dice dice) {
    this.engine = engine;
    this.ticker = ticker;
    this.dice = dice;
  }

  /**
   * Up to {@code most} workers that could serve the request instead, the best first: where a key
   * was hashed, its next places; otherwise those with the fewest requests in flight.
   *
   * @param request as it was decided, with the notes of that
   * @param most 0 to {@link #MOST}
   */
  public List<Worker> of(RoutingRequest request, Worker chosen, int most) {
    if (most <= 0) {
      return List.of();
    }
    PickReason reason = request.notes().reason();
    return reason == PickReason.HASH || reason == PickReason.HASH_SPILL
        ? nextPlaces(request, chosen, most)
        : leastLoaded(request, chosen, most);
  }

  /** Hashing changes nothing, so it can be asked again. */
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

  /** From a random worker on, so that equals take turns. */
  private List<Worker> leastLoaded(RoutingRequest request, Worker chosen, int most) {
    Pool pool = engine.pool(request.role(), request.model());
    if (pool == null) {
      return List.of();
    }
    long now = ticker.nanos();
    int[] loads = new int[most];
    List<Worker> least = new ArrayList<>(most);
    int i = dice.roll(pool.size());
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

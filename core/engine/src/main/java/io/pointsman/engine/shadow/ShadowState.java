package io.pointsman.engine.shadow;

import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.FleetSnapshot;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.LeaseView;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.ServedModels;
import io.pointsman.engine.fleet.Usage;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.cost.CostSettings;
import io.pointsman.engine.policy.cost.report.Yardstick;
import io.pointsman.engine.policy.cost.report.Yardstick.Reading;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The simulated state under one policy: a copy of the fleet with its own loads, the requests in
 * flight there, and their predictions. Belongs to one thread.
 */
final class ShadowState {
  /** Decay factor of past work per request. */
  private static final double FORGETTING = 0.9995;

  private static final double LARGEST_WEIGHT = 1e100;

  /** A request in flight. */
  private record Running(RoutingRequest request, Lease lease) {}

  private final Fleet fleet;
  private final @Nullable ShadowState real;
  private final Yardstick yardstick;
  private final Map<LeaseView, Running> running = new HashMap<>();

  /** The copied workers by id. */
  private final Map<String, Worker> copied = new HashMap<>();

  /** Tokens that each worker had to compute, by id, weighted by age. */
  private final Map<String, Double> computed = new HashMap<>();

  private double weight = 1;
  private long placed;
  private long promptTokens;
  private long cachedTokens;
  private double ttftMillis;

  /**
   * @param real the state under the acting policy; null if this is that state
   */
  ShadowState(
      FleetSettings settings, CostSettings models, Ticker ticker, @Nullable ShadowState real) {
    fleet = new Fleet(settings, ticker);
    this.real = real;
    yardstick =
        new Yardstick(models, ticker, settings.maxWorkers(), real == null ? null : real.yardstick);
  }

  Fleet fleet() {
    return fleet;
  }

  /**
   * Copies the fleet's members and models.
   *
   * @return true if all workers are copied. Otherwise requests of a departed worker have not ended
   *     here, and the call must be repeated.
   */
  boolean follow(FleetSnapshot present) {
    for (Map.Entry<String, Worker> each : Map.copyOf(copied).entrySet()) {
      if (present.worker(each.getKey()) != each.getValue()) {
        copied.remove(each.getKey());
        computed.remove(each.getKey());
        Worker gone = fleet.remove(each.getKey());
        if (gone != null) {
          yardstick.forget(gone);
        }
      }
    }
    boolean all = fleet.addCopies(present.workers());
    Map<Worker, ServedModels> models = new HashMap<>();
    for (Worker worker : present.workers()) {
      Worker own = fleet.snapshot().worker(worker.id());
      if (own == null) {
        continue;
      }
      if (copied.put(worker.id(), worker) == null) {
        own.probed(true);
      }
      ServedModels served = present.models(worker);
      if (served.known() && !served.equals(fleet.snapshot().models(own))) {
        models.put(own, served);
      }
    }
    fleet.learnModels(models);
    for (Role role : Role.values()) {
      yardstick.adopt(fleet.snapshot().pool(role));
    }
    return all;
  }

  /** Excludes the workers that are really not eligible, and copies their reported KV capacity. */
  void look(FleetSnapshot present, long now) {
    for (Worker worker : present.workers()) {
      Worker own = fleet.snapshot().worker(worker.id());
      if (own != null) {
        boolean out = !worker.eligible(now) && !worker.merelyBusy(now);
        if (own.draining() != out) {
          own.drain(out);
        }
        own.learnKvTokens(worker.kvTokens());
        if (own.weight() != worker.weight()) {
          own.weight(worker.weight());
        }
      }
    }
  }

  /** Returns the copy of a worker; null if there is none. */
  @Nullable Worker own(String id) {
    return fleet.snapshot().worker(id);
  }

  /**
   * Records a request placed on this fleet.
   *
   * @param real the real lease, which identifies the request's end
   * @param own the lease on this fleet
   */
  void placed(RoutingRequest request, LeaseView real, Lease own, @Nullable Reading reading) {
    running.put(real, new Running(request, own));
    yardstick.placed(request, own);
    if (reading == null) {
      return;
    }
    placed++;
    promptTokens += reading.promptTokens();
    cachedTokens += reading.cachedTokens();
    ttftMillis += reading.ttftMillis();
    weight /= FORGETTING;
    double work = (reading.promptTokens() - reading.cachedTokens()) * weight;
    computed.merge(own.worker().id(), work, Double::sum);
    if (weight > LARGEST_WEIGHT) {
      computed.replaceAll((_, sum) -> sum / LARGEST_WEIGHT);
      weight /= LARGEST_WEIGHT;
    }
  }

  /** Predicts a request's result on a worker of this fleet. */
  @Nullable Reading read(RoutingRequest request, Worker own, long now) {
    Worker twin = real == null ? null : real.own(own.id());
    if (real != null && twin != null) {
      yardstick.pace(own, real.yardstick, twin);
    }
    return yardstick.read(request, own, now);
  }

  /**
   * @param at time of the first token; may be in the past
   */
  void answered(LeaseView real, long at) {
    Running under = running.get(real);
    if (under != null) {
      under.lease.progressed();
      under.lease.firstTokenAfter(at - under.lease.placedAt());
      yardstick.answered(under.request, under.lease, at);
    }
  }

  /**
   * Records the end of a request.
   *
   * @param sameCaches true if the worker's reported cache hits also hold for its copy here
   */
  void ended(LeaseView real, Outcome outcome, Usage usage, boolean sameCaches) {
    Running under = running.remove(real);
    if (under == null) {
      return;
    }
    Lease own = under.lease;
    boolean found = sameCaches && own.worker().id().equals(real.worker().id());
    int cached = found ? usage.cachedTokens() : -1;
    own.reported(new Usage(usage.promptTokens(), cached, usage.completionTokens()));
    Outcome ending = outcome instanceof Outcome.Failed ? Outcome.IGNORED : outcome;
    own.settle(ending);
    yardstick.ended(under.request, own, ending);
  }

  /** The number of requests in flight. */
  int running() {
    return running.size();
  }

  ShadowReport.Side report() {
    return new ShadowReport.Side(placed, promptTokens, cachedTokens, ttftMillis, imbalance());
  }

  private double imbalance() {
    double all = 0;
    double most = 0;
    for (double each : computed.values()) {
      all += each;
      most = Math.max(most, each);
    }
    return all == 0 ? 1 : most * Math.max(1, copied.size()) / all;
  }
}

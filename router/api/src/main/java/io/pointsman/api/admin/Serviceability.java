package io.pointsman.api.admin;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.config.settings.DisaggSettings;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSnapshot;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.reply.LocalError;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import java.util.function.Supplier;

/** Finds out whether at least one model can be served, and the reasons if none can. */
final class Serviceability {
  /** Maximum number of reasons and of models in an answer. */
  private static final int MOST = 100;

  private final Fleet fleet;
  private final Supplier<DisaggSettings> disagg;
  private final BooleanSupplier stopping;
  private final BooleanSupplier defers;

  /**
   * @param stopping true while the router stops
   * @param defers true if requests can wait for a worker; the router is then ready without one
   */
  Serviceability(
      Fleet fleet,
      Supplier<DisaggSettings> disagg,
      BooleanSupplier stopping,
      BooleanSupplier defers) {
    this.fleet = fleet;
    this.disagg = disagg;
    this.stopping = stopping;
    this.defers = defers;
  }

  /**
   * 200 with the models that can be served; otherwise 503 with the reasons.
   *
   * @param shown selects the models that the caller may see
   */
  LocalResponse answer(Predicate<String> shown) {
    FleetSnapshot now = fleet.snapshot();
    Workers able = Workers.of(now.workers());
    boolean serves = able.any(disagg.get());
    boolean ready = (serves || defers.getAsBoolean()) && !stopping.getAsBoolean();
    ObjectNode body = Json.object();
    body.put("status", ready ? "ready" : "not_ready");
    if (ready) {
      ArrayNode models = body.putArray("models");
      able.models(disagg.get()).stream().filter(shown).limit(MOST).forEach(models::add);
      if (!serves) {
        body.put("note", "requests wait for a worker (queue.defer-without-worker)");
      }
    } else {
      ArrayNode reasons = body.putArray("reasons");
      reasons(now).stream().limit(MOST).forEach(reasons::add);
    }
    body.put("total_workers", now.workers().size());
    return ready ? Json.answer(200, body) : Json.answer(LocalError.NOT_READY, body);
  }

  private List<String> reasons(FleetSnapshot now) {
    List<String> reasons = new ArrayList<>();
    if (stopping.getAsBoolean()) {
      reasons.add("the router is stopping");
      return reasons;
    }
    if (now.workers().isEmpty()) {
      reasons.add("no workers");
    }
    for (Worker worker : now.workers()) {
      String reason = reason(worker);
      if (!reason.isEmpty()) {
        reasons.add(WorkerUrls.of(worker) + ": " + reason);
      }
    }
    if (reasons.isEmpty()) {
      reasons.add("no model has both a prefill and a decode worker");
    }
    return reasons;
  }

  /** The reason why the worker gets no requests; empty if it gets some. */
  private static String reason(Worker worker) {
    if (worker.draining()) {
      return worker.cordoned() ? "cordoned" : "draining";
    }
    if (!worker.health().healthy() && !worker.probes().ignored()) {
      return worker.health().reason();
    }
    if (worker.asleep()) {
      return "sleeps or is paused";
    }
    return worker.closing() ? "its engine shuts down" : "";
  }

  /** The workers that get requests, by role. */
  private record Workers(List<Worker> regular, List<Worker> prefill, List<Worker> decode) {
    static Workers of(List<Worker> all) {
      List<Worker> able = all.stream().filter(worker -> reason(worker).isEmpty()).toList();
      return new Workers(of(able, Role.REGULAR), of(able, Role.PREFILL), of(able, Role.DECODE));
    }

    private static List<Worker> of(List<Worker> workers, Role role) {
      return workers.stream().filter(worker -> worker.spec().role() == role).toList();
    }

    boolean any(DisaggSettings disagg) {
      return !whole(disagg).isEmpty() || pairs();
    }

    /** The workers that serve a request alone. */
    private List<Worker> whole(DisaggSettings disagg) {
      List<Worker> whole = new ArrayList<>(regular);
      if (disagg.split().decodeServesWhole()) {
        whole.addAll(decode);
      }
      if (disagg.split().prefillServesWhole()) {
        whole.addAll(prefill);
      }
      return whole;
    }

    private boolean pairs() {
      if (prefill.isEmpty() || decode.isEmpty()) {
        return false;
      }
      return anyModel(prefill) || anyModel(decode) || !both().isEmpty();
    }

    private static boolean anyModel(List<Worker> workers) {
      return workers.stream().anyMatch(worker -> worker.anyModel() || worker.models().isEmpty());
    }

    private Set<String> both() {
      Set<String> names = names(prefill);
      Set<String> ofDecode = names(decode);
      if (anyModel(prefill)) {
        return ofDecode;
      }
      if (!anyModel(decode)) {
        names.retainAll(ofDecode);
      }
      return names;
    }

    private static Set<String> names(List<Worker> workers) {
      Set<String> names = new TreeSet<>();
      workers.forEach(worker -> names.addAll(worker.models()));
      return names;
    }

    /** The names of the models that can be served, sorted. */
    Set<String> models(DisaggSettings disagg) {
      Set<String> names = names(whole(disagg));
      if (pairs()) {
        names.addAll(both());
      }
      return names;
    }
  }
}

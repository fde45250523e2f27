package io.pointsman.kubernetes;

import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.Service;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSnapshot;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps the pods' workers in the fleet up to date. It always compares all pods, so a lost or
 * repeated event changes nothing. It changes only workers that it has added itself. An engine that
 * is already in the fleet is not added again. A worker that was removed by hand stays out until its
 * pod changes. One thread.
 *
 * <p>A pod that becomes unready keeps its worker while the worker has requests in flight. Such an
 * engine is often overloaded. A new worker would lose the load, breaker and prefixes of the old
 * one, and would get still more requests.
 */
final class PodFleet {
  private static final Logger log = LoggerFactory.getLogger(PodFleet.class);

  private static final List<Role> PRECEDENCE = List.of(Role.PREFILL, Role.DECODE, Role.REGULAR);

  private final Fleet fleet;
  private final PodWorkers workers;
  private final Map<String, Own> own = new HashMap<>();

  /** Ids of workers with an address that another source has added to the fleet. */
  private final Set<String> knownOtherwise = new TreeSet<>();

  private int leftOut;

  /** A worker that a pod should have. */
  private record Wanted(WorkerSpec spec, boolean ready) {}

  /** A worker and its requested spec; the fleet may have added limits to the spec. */
  private record Own(WorkerSpec wanted, Worker worker) {}

  PodFleet(Fleet fleet, PodWorkers workers) {
    this.fleet = fleet;
    this.workers = workers;
  }

  /** Follows pods that serve complete requests. */
  void follow(Collection<Pod> pods) {
    follow(Map.of(Role.REGULAR, pods));
  }

  /**
   * Adapts the fleet to these pods, which are all selected pods. A pod that is selected for several
   * roles gets the first of prefill, decode and regular.
   */
  void follow(Map<Role, ? extends Collection<Pod>> pods) {
    follow(pods, Map.of());
  }

  /**
   * The same for pods and Services. A Service is always ready: probes find out whether an engine
   * answers.
   */
  void follow(
      Map<Role, ? extends Collection<Pod>> pods,
      Map<Role, ? extends Collection<Service>> services) {
    Map<String, Wanted> wanted = new TreeMap<>();
    for (Role role : PRECEDENCE) {
      Collection<Pod> selected = pods.get(role);
      if (selected != null) {
        for (Pod pod : selected) {
          boolean ready = PodWorkers.ready(pod);
          workers
              .of(pod, role)
              .forEach(spec -> wanted.putIfAbsent(spec.id(), new Wanted(spec, ready)));
        }
      }
    }
    for (Role role : PRECEDENCE) {
      Collection<Service> selected = services.get(role);
      if (selected != null) {
        for (Service service : selected) {
          workers
              .of(service, role)
              .forEach(spec -> wanted.putIfAbsent(spec.id(), new Wanted(spec, true)));
        }
      }
    }
    removeWhatIsNot(wanted);
    add(missing(wanted.values().stream().filter(Wanted::ready).map(Wanted::spec).toList()));
  }

  private void removeWhatIsNot(Map<String, Wanted> wanted) {
    Iterator<Own> all = own.values().iterator();
    while (all.hasNext()) {
      Own each = all.next();
      Worker worker = each.worker();
      Wanted now = wanted.get(worker.id());
      boolean busy = !worker.left() && worker.inFlight() > 0;
      if (now != null && now.spec().equals(each.wanted()) && (now.ready() || busy)) {
        drain(worker, !now.ready());
      } else {
        all.remove();
        if (fleet.remove(worker)) {
          log.info("pod {} was removed; its current requests continue", worker);
        }
      }
    }
  }

  private static void drain(Worker worker, boolean draining) {
    if (!worker.left() && worker.withdrawn() != draining) {
      worker.drain(draining);
      log.info(
          "pod {} {}",
          worker,
          draining ? "is not ready and gets no new requests" : "is ready again");
    }
  }

  private List<WorkerSpec> missing(Collection<WorkerSpec> wanted) {
    List<WorkerSpec> missing = new ArrayList<>();
    Set<String> known = new TreeSet<>();
    Set<String> taken = null;
    for (WorkerSpec spec : wanted) {
      if (!own.containsKey(spec.id())) {
        taken = taken == null ? addresses() : taken;
        if (taken.add(address(spec))) {
          missing.add(spec);
        } else {
          known.add(spec.id());
          if (!knownOtherwise.contains(spec.id())) {
            log.info("pod {} is not added: {} is already a worker", spec.id(), address(spec));
          }
        }
      }
    }
    knownOtherwise.clear();
    knownOtherwise.addAll(known);
    return missing;
  }

  private Set<String> addresses() {
    Set<String> addresses = new HashSet<>();
    fleet.snapshot().workers().forEach(worker -> addresses.add(address(worker.spec())));
    return addresses;
  }

  private static String address(WorkerSpec spec) {
    return spec.url() + "@" + spec.rank();
  }

  /** True if both specs are of the same pod. The pod's unique id is among the labels. */
  private static boolean same(WorkerSpec one, WorkerSpec other) {
    return address(one).equals(address(other)) && one.labels().equals(other.labels());
  }

  private void add(List<WorkerSpec> missing) {
    int left = missing.size();
    String reason = "their names are in use";
    if (!missing.isEmpty()) {
      try {
        fleet.addAll(missing);
      } catch (IllegalStateException full) {
        reason = String.valueOf(full.getMessage());
      }
      FleetSnapshot now = fleet.snapshot();
      for (WorkerSpec spec : missing) {
        Worker worker = now.worker(spec.id());
        if (worker != null && same(worker.spec(), spec)) {
          own.put(spec.id(), new Own(spec, worker));
          left--;
          log.info("pod {} serves at {} ({})", worker, spec.url(), spec.role());
        }
      }
    }
    if (left != leftOut) {
      leftOut = left;
      if (left > 0) {
        log.warn("{} workers of pods are not added: {}", left, reason);
      } else {
        log.info("all workers of pods are added");
      }
    }
  }

  /** Ids of pods' workers that are not added because another source has added their engines. */
  Set<String> knownOtherwise() {
    return Set.copyOf(knownOtherwise);
  }

  /**
   * Number of pods' workers that are missing because the fleet is full or their names are in use.
   */
  int leftOut() {
    return leftOut;
  }
}

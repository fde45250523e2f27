package io.pointsman.kubernetes;

import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.Service;
import io.fabric8.kubernetes.api.model.discovery.v1.EndpointSlice;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSnapshot;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSource;
import io.pointsman.engine.fleet.WorkerSources;
import io.pointsman.engine.fleet.WorkerSpec;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps the pods' workers in the fleet up to date. It always compares all pods, so a lost or
 * repeated event changes nothing. It changes only its own workers. An engine that is already in the
 * fleet is not added again. A worker that was removed by hand stays out until its pod changes. One
 * thread.
 *
 * <p>A pod that becomes unready keeps its worker while the worker has requests in flight. Such an
 * engine is often overloaded. A new worker would lose the load, breaker and prefixes of the old
 * one, and would get still more requests.
 */
final class PodFleet {
  private static final Logger log = LoggerFactory.getLogger(PodFleet.class);

  private static final List<Role> PRECEDENCE = List.of(Role.PREFILL, Role.DECODE, Role.REGULAR);

  private static final WorkerSource SELF = WorkerSource.KUBERNETES;

  /** The name in specs that are compared without their names. */
  private static final String ANY_NAME = "any";

  /** Slices with IPv4 first, in an order that does not change. */
  private static final Comparator<EndpointSlice> BY_TYPE =
      Comparator.comparing((EndpointSlice slice) -> "FQDN".equals(slice.getAddressType()))
          .thenComparing(slice -> String.valueOf(slice.getAddressType()))
          .thenComparing(slice -> String.valueOf(slice.getMetadata().getName()));

  private final Fleet fleet;
  private final WorkerSources sources;
  private final PodWorkers workers;
  private final Map<String, Own> own = new HashMap<>();

  /** Workers of other sources at the addresses of pods, by the ids of the pods' workers. */
  private final Map<String, Joined> joined = new HashMap<>();

  /** Ids of pods' workers with an address that is a worker already. */
  private final Set<String> knownOtherwise = new TreeSet<>();

  private int leftOut;

  /** A worker that a pod should have. */
  private record Wanted(WorkerSpec spec, boolean ready) {}

  /** A worker and its requested spec; the fleet may have added limits to the spec. */
  private record Own(WorkerSpec wanted, Worker worker) {}

  /** A worker of another source that a pod names, too. */
  private record Joined(WorkerSpec wanted, String id) {}

  /** For a fleet without other sources. */
  PodFleet(Fleet fleet, PodWorkers workers) {
    this(fleet, new WorkerSources(fleet), workers);
  }

  PodFleet(Fleet fleet, WorkerSources sources, PodWorkers workers) {
    this.fleet = fleet;
    this.sources = sources;
    this.workers = workers;
  }

  /**
   * Takes over the workers that another instance has added or shared. Workers that the next pods
   * include stay the same, also under another name, for example after a second port.
   */
  void after(PodFleet before) {
    own.putAll(before.own);
    joined.putAll(before.joined);
    knownOtherwise.addAll(before.knownOtherwise);
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
    follow(pods, services, Map.of());
  }

  /**
   * The same, with EndpointSlices. A pod in several of them, for example for two families of
   * addresses, is one worker.
   */
  void follow(
      Map<Role, ? extends Collection<Pod>> pods,
      Map<Role, ? extends Collection<Service>> services,
      Map<Role, ? extends Collection<EndpointSlice>> slices) {
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
    for (Role role : PRECEDENCE) {
      Collection<EndpointSlice> selected = slices.get(role);
      if (selected != null) {
        selected.stream()
            .sorted(BY_TYPE)
            .flatMap(slice -> workers.of(slice, role).stream())
            .forEach(
                each ->
                    wanted.putIfAbsent(each.spec().id(), new Wanted(each.spec(), each.ready())));
      }
    }
    rename(wanted);
    removeWhatIsNot(wanted);
    leaveWhatIsNot(wanted);
    add(missing(wanted.values().stream().filter(Wanted::ready).map(Wanted::spec).toList()));
  }

  /** Keeps a worker if only the name in its spec differs. The worker keeps its name. */
  private void rename(Map<String, Wanted> wanted) {
    Map<WorkerSpec, String> missing = new HashMap<>();
    wanted.forEach(
        (id, each) -> {
          if (!own.containsKey(id)) {
            missing.put(each.spec().withId(ANY_NAME), id);
          }
        });
    if (missing.isEmpty()) {
      return;
    }
    for (String id : List.copyOf(own.keySet())) {
      Own each = own.get(id);
      String now =
          each == null || wanted.containsKey(id)
              ? null
              : missing.remove(each.wanted().withId(ANY_NAME));
      Wanted renamed = now == null ? null : wanted.get(now);
      if (each != null && now != null && renamed != null) {
        own.remove(id);
        own.put(now, new Own(renamed.spec(), each.worker()));
      }
    }
  }

  private void removeWhatIsNot(Map<String, Wanted> wanted) {
    Iterator<Map.Entry<String, Own>> all = own.entrySet().iterator();
    while (all.hasNext()) {
      Map.Entry<String, Own> entry = all.next();
      Own each = entry.getValue();
      Worker worker = each.worker();
      Wanted now = wanted.get(entry.getKey());
      boolean busy = !worker.left() && worker.inFlight() > 0;
      if (now != null && now.spec().equals(each.wanted()) && (now.ready() || busy)) {
        drain(worker, !now.ready() && !sources.listedByOthers(SELF, worker));
      } else {
        all.remove();
        if (sources.release(SELF, worker.id())) {
          log.info("pod {} was removed; its current requests continue", worker);
        }
      }
    }
  }

  /** Ends the interest in workers of other sources. */
  private void leaveWhatIsNot(Map<String, Wanted> wanted) {
    FleetSnapshot snapshot = fleet.snapshot();
    joined
        .entrySet()
        .removeIf(
            each -> {
              Wanted now = wanted.get(each.getKey());
              String id = each.getValue().id();
              boolean stays =
                  now != null
                      && now.ready()
                      && now.spec().equals(each.getValue().wanted())
                      && snapshot.worker(id) != null;
              if (!stays) {
                sources.release(SELF, id);
              }
              return !stays;
            });
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
    Set<String> known = new TreeSet<>(joined.keySet());
    Set<String> taken = new HashSet<>();
    Map<String, Worker> present = null;
    for (WorkerSpec spec : wanted) {
      if (!own.containsKey(spec.id()) && !joined.containsKey(spec.id())) {
        present = present == null ? byAddress() : present;
        Worker other = present.get(address(spec));
        if (other == null && taken.add(address(spec))) {
          missing.add(spec);
        } else {
          known.add(spec.id());
          join(spec, other);
        }
      }
    }
    knownOtherwise.clear();
    knownOtherwise.addAll(known);
    return missing;
  }

  /** Shares the worker of another source; no pod's worker is shared. */
  private void join(WorkerSpec spec, @Nullable Worker other) {
    if (!knownOtherwise.contains(spec.id())) {
      log.info("pod {} is not added: {} is already a worker", spec.id(), address(spec));
    }
    if (other != null && own.values().stream().noneMatch(each -> each.worker() == other)) {
      sources.hold(SELF, other, spec);
      joined.put(spec.id(), new Joined(spec, other.id()));
    }
  }

  private Map<String, Worker> byAddress() {
    Map<String, Worker> found = new HashMap<>();
    fleet.snapshot().workers().forEach(each -> found.put(address(each.spec()), each));
    return found;
  }

  private static String address(WorkerSpec spec) {
    return spec.base() + "@" + spec.rank();
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
        sources.add(SELF, missing);
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

  /** Ids of pods' workers with an engine that is a worker of another source or pod. */
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

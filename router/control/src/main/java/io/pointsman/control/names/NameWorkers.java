package io.pointsman.control.names;

import io.pointsman.config.value.Resolve;
import io.pointsman.engine.env.LogText;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.HostPort;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSource;
import io.pointsman.engine.fleet.WorkerSources;
import io.pointsman.engine.fleet.WorkerSpec;
import java.io.IOException;
import java.net.InetAddress;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps a worker in the fleet for each address of certain host names, for example of headless
 * Services. An address that is missing in three answers in a row leaves; answers may be incomplete.
 * After a failed lookup all addresses stay. Thread-safe.
 */
public final class NameWorkers {
  private static final Logger log = LoggerFactory.getLogger(NameWorkers.class);

  private static final int MISSES = 3;

  /** Resolver of host names; may block. */
  @FunctionalInterface
  public interface Names {
    List<InetAddress> addresses(String host) throws IOException;
  }

  private static final WorkerSource SELF = WorkerSource.NAMES;

  private final Fleet fleet;
  private final WorkerSources sources;
  private final Names names;

  /** Guarded by this. */
  private List<WorkerSpec> specs;

  /** The workers of each configured name, by id. Guarded by this. */
  private final Map<WorkerSpec, Map<String, Member>> members = new HashMap<>();

  /** The present problem of each name that has one. Guarded by this. */
  private final Map<WorkerSpec, String> problems = new HashMap<>();

  /** A worker in the fleet. */
  private static final class Member {
    private final Worker worker;
    private int misses;

    Member(Worker worker) {
      this.worker = worker;
    }
  }

  /**
   * @param configured all configured workers; others than those of {@link #expanded} do not count
   */
  public NameWorkers(Fleet fleet, WorkerSources sources, Names names, List<WorkerSpec> configured) {
    this.fleet = fleet;
    this.sources = sources;
    this.names = names;
    specs = expanded(configured);
  }

  /** The workers that stand for one name each, not for its addresses. */
  public static List<WorkerSpec> single(List<WorkerSpec> configured) {
    return configured.stream().filter(each -> !expands(each)).toList();
  }

  private static List<WorkerSpec> expanded(List<WorkerSpec> configured) {
    return configured.stream().filter(NameWorkers::expands).toList();
  }

  /** True if the worker's name stands for a worker for each address. */
  private static boolean expands(WorkerSpec spec) {
    return "all".equals(spec.labels().get(Resolve.LABEL));
  }

  /** Replaces the configured workers, and looks the names up at once. */
  public synchronized void configure(List<WorkerSpec> next) {
    specs = expanded(next);
    look();
  }

  /** Looks all names up and changes the fleet. Blocks. */
  public synchronized void look() {
    Set<WorkerSpec> gone = new HashSet<>(members.keySet());
    specs.forEach(gone::remove);
    for (WorkerSpec spec : gone) {
      Map<String, Member> left = members.remove(spec);
      if (left != null) {
        left.values().forEach(member -> sources.release(SELF, member.worker.id()));
      }
    }
    for (WorkerSpec spec : specs) {
      String problem = null;
      try {
        follow(spec, names.addresses(HostPort.ofUrl(spec.url()).bareHost()));
      } catch (IOException e) {
        problem = "no addresses: " + e;
      } catch (IllegalStateException e) {
        problem = e.getMessage();
      }
      report(spec, problem);
    }
    problems.keySet().retainAll(specs);
  }

  /** Logs a problem when it begins or changes. */
  private void report(WorkerSpec spec, @Nullable String problem) {
    String before = problem == null ? problems.remove(spec) : problems.put(spec, problem);
    if (problem != null && !problem.equals(before)) {
      log.warn("{}: {}", spec.id(), LogText.of(problem));
    } else if (problem == null && before != null) {
      log.info("{}: its addresses are known again", spec.id());
    }
  }

  private void follow(WorkerSpec spec, List<InetAddress> addresses) {
    Map<String, WorkerSpec> wanted = new LinkedHashMap<>();
    for (InetAddress address : addresses) {
      WorkerSpec one = at(spec, address);
      wanted.put(one.id(), one);
    }
    Map<String, Member> present = members.computeIfAbsent(spec, _ -> new LinkedHashMap<>());
    for (Iterator<Map.Entry<String, Member>> all = present.entrySet().iterator(); all.hasNext(); ) {
      Map.Entry<String, Member> each = all.next();
      Member member = each.getValue();
      member.misses = wanted.containsKey(each.getKey()) ? 0 : member.misses + 1;
      if (member.misses >= MISSES || member.worker.left()) {
        sources.release(SELF, member.worker.id());
        all.remove();
      }
    }
    for (WorkerSpec one : wanted.values()) {
      if (!present.containsKey(one.id())) {
        Worker worker = joined(one);
        if (worker != null) {
          present.put(one.id(), new Member(worker));
        }
      }
    }
  }

  /** The new or present worker; null if another engine has the id. */
  private @Nullable Worker joined(WorkerSpec spec) {
    Worker known = fleet.snapshot().sameEngine(spec);
    if (known == null) {
      sources.add(SELF, List.of(spec));
      return fleet.snapshot().worker(spec.id());
    }
    if (!known.spec().base().equals(spec.base())) {
      return null;
    }
    sources.hold(SELF, known, spec);
    return known;
  }

  /** The worker at one address of the name. */
  private static WorkerSpec at(WorkerSpec spec, InetAddress address) {
    HostPort named = HostPort.ofUrl(spec.url());
    String numeric = address.getHostAddress();
    String host = numeric.contains(":") ? "[" + numeric + "]" : numeric;
    String url = spec.url().replaceFirst("//[^/:]+", "//" + host);
    boolean usual = spec.id().startsWith(WorkerSpec.idOf(spec.url()));
    String rank = spec.rank() == WorkerSpec.NO_RANK ? "" : "@" + spec.rank();
    String id = usual ? WorkerSpec.idOf(url) + rank : spec.id() + "/" + numeric;
    Map<String, String> labels = new HashMap<>(spec.labels());
    labels.remove(Resolve.LABEL);
    labels.put("name", named.host());
    return new WorkerSpec(
        id, url, spec.role(), spec.models(), spec.rank(), spec.maxInFlight(), labels);
  }
}

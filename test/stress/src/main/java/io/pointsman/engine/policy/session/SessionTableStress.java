package io.pointsman.engine.policy.session;

import static java.util.Objects.requireNonNull;
import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;

import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.engine.policy.AffinityKey;
import io.pointsman.engine.policy.RoutingRequest;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;
import org.openjdk.jcstress.infra.results.II_Result;
import org.openjdk.jcstress.infra.results.ZI_Result;
import org.openjdk.jcstress.infra.results.Z_Result;

/**
 * The session table. Lookups take no lock: they see a session before or after a concurrent change
 * of it, and never miss a session that nobody changes.
 */
public final class SessionTableStress {
  private static final Duration TTL = Duration.ofNanos(10);
  private static final long EXPIRED = 1000;

  private SessionTableStress() {}

  static RoutingRequest request(String id, String model) {
    return RoutingRequest.builder()
        .model(model)
        .affinity(new AffinityKey(AffinityKey.Kind.SESSION, "header:x-session-id", id))
        .build();
  }

  /** A table for three workers. */
  public abstract static class Table {
    private long now;
    final Fleet fleet;
    final List<Worker> workers;
    final SessionTable table;

    Table(int most) {
      FleetSettings all = FleetSettings.DEFAULTS;
      fleet = new Fleet(new FleetSettings(3, all.health(), all.breaker(), all.stall()), this::time);
      workers =
          fleet.addAll(
              List.of(
                  WorkerSpec.of("http://w0"),
                  WorkerSpec.of("http://w1"),
                  WorkerSpec.of("http://w2")));
      workers.forEach(worker -> worker.probed(true));
      table = new SessionTable(most, TTL, this::time);
    }

    private long time() {
      return now;
    }

    /** Sets the time; only before the threads begin. */
    void time(long time) {
      now = time;
    }

    int bind(RoutingRequest request, int worker, long now) {
      Worker to = workers.get(worker);
      return number(table.bind(request, table.home(to), Set.copyOf(workers), now));
    }

    int number(@Nullable Worker worker) {
      return worker == null ? -1 : workers.indexOf(worker);
    }
  }

  /** session.one-worker: concurrent first requests of a session get the same worker. */
  @JCStressTest
  @org.openjdk.jcstress.annotations.Outcome(
      id = {"0, 0, 1", "1, 1, 1"},
      expect = ACCEPTABLE)
  @State
  public static class TwoFirstRequests extends Table {
    public TwoFirstRequests() {
      super(4);
    }

    @Actor
    public void first(III_Result r) {
      r.r1 = bind(request("s", "m"), 0, 0);
    }

    @Actor
    public void second(III_Result r) {
      r.r2 = bind(request("s", "m"), 1, 0);
    }

    @Arbiter
    public void after(III_Result r) {
      r.r3 = table.size();
    }
  }

  /** session.bound: concurrent new sessions do not exceed the maximum number. */
  @JCStressTest
  @org.openjdk.jcstress.annotations.Outcome(id = "1, 1", expect = ACCEPTABLE)
  @State
  public static class TwoSessionsForOnePlace extends Table {
    public TwoSessionsForOnePlace() {
      super(1);
    }

    @Actor
    public void first() {
      bind(request("s", "m"), 0, 0);
    }

    @Actor
    public void second() {
      bind(request("t", "m"), 1, 0);
    }

    @Arbiter
    public void after(II_Result r) {
      r.r1 = table.size();
      r.r2 = workers.stream().mapToInt(table::sessions).sum();
    }
  }

  /** session.found: a lookup finds a session while its neighbours in the chain leave. */
  @JCStressTest
  @org.openjdk.jcstress.annotations.Outcome(id = "0, 1", expect = ACCEPTABLE)
  @State
  public static class LookupAndDepartures extends Table {
    private final RoutingRequest asked = request("s", "a");

    public LookupAndDepartures() {
      super(4);
      bind(asked, 0, 0);
      bind(request("s", "b"), 1, 0);
      bind(request("s", "c"), 2, 0);
      fleet.remove("w1");
      fleet.remove("w2");
    }

    @Actor
    public void looksUp(II_Result r) {
      r.r1 = number(table.boundWorker(asked, 0));
    }

    @Actor
    public void leave() {
      table.forget(workers.get(1));
      table.forget(workers.get(2));
    }

    @Arbiter
    public void after(II_Result r) {
      r.r2 = table.size();
    }
  }

  /** session.in-use: a session with a request in flight is found, however old it is. */
  @JCStressTest
  @org.openjdk.jcstress.annotations.Outcome(id = "true", expect = ACCEPTABLE)
  @State
  public static class LookupAndEndOfRequest extends Table {
    private final RoutingRequest request = request("s", "m");
    private final Lease lease;

    public LookupAndEndOfRequest() {
      super(4);
      bind(request, 0, 0);
      lease = requireNonNull(workers.get(0).tryLease(0, 0, 0, (_, _) -> {}));
      table.placed(request, lease);
      time(EXPIRED);
    }

    @Actor
    public void ends() {
      table.ended(request, lease, Outcome.SUCCEEDED);
    }

    @Actor
    public void looksUp(Z_Result r) {
      r.r1 = table.boundWorker(request, EXPIRED) != null;
    }
  }

  /** session.count-exact: a worker's sessions are counted exactly after moves and departures. */
  @JCStressTest
  @org.openjdk.jcstress.annotations.Outcome(
      id = {"0, 0, 0", "0, 1, 1"},
      expect = ACCEPTABLE)
  @State
  public static class MoveAndDeparture extends Table {
    private final RoutingRequest request = request("s", "m");
    private final Session.Home second;

    public MoveAndDeparture() {
      super(4);
      bind(request, 0, 0);
      second = table.home(workers.get(1));
      fleet.remove("w0");
    }

    @Actor
    public void moves() {
      table.move(request, workers.get(0), second);
    }

    @Actor
    public void leaves() {
      table.forget(workers.get(0));
    }

    @Arbiter
    public void after(III_Result r) {
      r.r1 = table.sessions(workers.get(0));
      r.r2 = table.sessions(workers.get(1));
      r.r3 = table.size();
    }
  }

  /** session.not-reopened: the end of a request does not bring an ended session back. */
  @JCStressTest
  @org.openjdk.jcstress.annotations.Outcome(id = "true, 0", expect = ACCEPTABLE)
  @State
  public static class FinishAndEndOfRequest extends Table {
    private final RoutingRequest request = request("s", "m");
    private final Lease lease;

    public FinishAndEndOfRequest() {
      super(4);
      bind(request, 0, 0);
      lease = requireNonNull(workers.get(0).tryLease(0, 0, 0, (_, _) -> {}));
      table.placed(request, lease);
    }

    @Actor
    public void finishes(ZI_Result r) {
      r.r1 = table.finish("s");
    }

    @Actor
    public void ends() {
      table.ended(request, lease, Outcome.SUCCEEDED);
    }

    @Arbiter
    public void after(ZI_Result r) {
      bind(request("t", "m"), 1, EXPIRED);
      bind(request("u", "m"), 1, 2 * EXPIRED);
      table.finish("u");
      r.r2 = table.size();
    }
  }
}

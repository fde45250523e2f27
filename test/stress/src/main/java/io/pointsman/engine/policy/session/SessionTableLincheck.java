package io.pointsman.engine.policy.session;

import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.engine.policy.RoutingRequest;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.jetbrains.lincheck.datastructures.IntGen;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.jspecify.annotations.Nullable;

/**
 * session.linearizable: every concurrent run has the results of the same operations one after the
 * other. The model is the table itself without concurrency. The sessions have one value and three
 * models, so they are in one chain; the table has room for two of them.
 */
public final class SessionTableLincheck {
  private final List<Worker> workers;
  private final SessionTable table = new SessionTable(2, Duration.ofHours(1), () -> 0);

  /** Creates a table for two workers. */
  public SessionTableLincheck() {
    FleetSettings all = FleetSettings.DEFAULTS;
    Fleet fleet =
        new Fleet(new FleetSettings(2, all.health(), all.breaker(), all.stall()), () -> 0);
    workers = fleet.addAll(List.of(WorkerSpec.of("http://w0"), WorkerSpec.of("http://w1")));
    workers.forEach(worker -> worker.probed(true));
  }

  private static RoutingRequest session(int number) {
    return SessionTableStress.request("s", "m" + number);
  }

  private int number(@Nullable Worker worker) {
    return worker == null ? -1 : workers.indexOf(worker);
  }

  @Operation
  public int bind(
      @Param(gen = IntGen.class, conf = "0:2") int session,
      @Param(gen = IntGen.class, conf = "0:1") int worker) {
    Session.Home home = table.home(workers.get(worker));
    return number(table.bind(session(session), home, Set.copyOf(workers), 0));
  }

  @Operation
  public int boundWorker(@Param(gen = IntGen.class, conf = "0:2") int session) {
    return number(table.boundWorker(session(session), 0));
  }

  @Operation
  public void move(
      @Param(gen = IntGen.class, conf = "0:2") int session,
      @Param(gen = IntGen.class, conf = "0:1") int to) {
    table.move(session(session), workers.get(1 - to), table.home(workers.get(to)));
  }

  @Operation
  public boolean finish() {
    return table.finish("s");
  }

  @Operation
  public int size() {
    return table.size();
  }
}

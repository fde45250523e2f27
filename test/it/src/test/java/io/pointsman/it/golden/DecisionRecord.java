package io.pointsman.it.golden;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.pointsman.engine.fleet.LeaseView;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.Learner;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.tool.replay.run.PolicyMaker;
import io.pointsman.tool.replay.run.Simulation;
import io.pointsman.tool.replay.run.SimulationSettings;
import io.pointsman.tool.replay.trace.Trace;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HexFormat;

/** The decisions of one replay, in order. Used by one thread. */
final class DecisionRecord implements Learner {
  private final StringBuilder decisions = new StringBuilder();
  private final int[] byWorker;
  private int deferred;
  private long deferredNanos;

  private DecisionRecord(int workers) {
    byWorker = new int[workers];
  }

  /** Replays {@code trace} under {@code policy}. */
  static DecisionRecord of(Trace trace, PolicyMaker policy, SimulationSettings settings) {
    DecisionRecord record = new DecisionRecord(settings.workers());
    Simulation.run(trace, (parts, view) -> policy.make(parts, view).with(record), settings);
    return record;
  }

  @Override
  public void placed(RoutingRequest request, LeaseView lease) {
    int worker = Integer.parseInt(lease.worker().spec().url().replaceAll("\\D", ""));
    long waited = lease.placedAt() - request.waits().askedAt();
    deferred += waited > 0 ? 1 : 0;
    deferredNanos += waited;
    byWorker[worker]++;
    decisions.append(worker).append(' ').append(lease.placedAt());
    decisions.append(' ').append(waited).append('\n');
  }

  @Override
  public void ended(RoutingRequest request, LeaseView lease, Outcome outcome) {}

  @Override
  public void forget(Worker worker) {}

  /**
   * A hash of each decision (worker, time, time deferred), then the number of requests by worker.
   */
  String line(String name) {
    String deferred =
        this.deferred == 0
            ? ""
            : "  deferred %d, %d ms in all".formatted(this.deferred, deferredNanos / 1_000_000);
    return "%-20s %s  %s%s\n".formatted(name, hash(), Arrays.toString(byWorker), deferred);
  }

  private String hash() {
    try {
      byte[] digest =
          MessageDigest.getInstance("SHA-256").digest(decisions.toString().getBytes(UTF_8));
      return HexFormat.of().formatHex(digest, 0, 8);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
  }
}

package io.pointsman.proxy.retry;

import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.request.PromptOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The failures of one request on workers. It limits the number of engines that can fail after the
 * request. An engine that fails twice counts once. An engine that had failed other requests before
 * it got this one, and has served none since, does not count. After a second engine, one of the two
 * no longer counts if it fails by itself: it answers probes and fails requests that it got later.
 * An engine that ends does not count if it has output of a request that was sent later, and if the
 * order of prompts is known ({@link PromptOrder}): it has survived the prompt of this one. One
 * engine at most is not counted for these two reasons.
 *
 * <p>It also decides if a failure is charged to the worker's breaker:
 *
 * <ul>
 *   <li>The first failure is charged, unless the client is suspect.
 *   <li>If the request fails on another worker of the role too, neither failure is charged.
 *   <li>If another worker serves the request, the failure of a suspect client is charged after all.
 * </ul>
 *
 * Belongs to the event loop of its client.
 */
public final class RequestFaults {
  /** Maximum number of engines that may fail after one request. */
  public static final int MOST_ENGINES = 2;

  /** Conclusion about the engine from a failed attempt. */
  public enum Evidence {
    /** The engine failed after it got the request, and may have ended. */
    ENGINE_ENDED,
    /** The engine answered the request with an error, so it lives. */
    ENGINE_ANSWERED,
    /** The engine may be well. */
    MAYBE_WELL;

    /**
     * The evidence of an error in an answer.
     *
     * @param engine true if the error is one of the engine; false if the engine may be well
     */
    public static Evidence ofAnswer(Worker worker, boolean engine) {
      if (!engine) {
        return MAYBE_WELL;
      }
      return worker.shuttingDown() ? ENGINE_ENDED : ENGINE_ANSWERED;
    }

    /**
     * The evidence of an attempt without an answer.
     *
     * @param engine true if the engine failed after it got the request
     */
    public static Evidence ofSilence(boolean engine) {
      return engine ? ENGINE_ENDED : MAYBE_WELL;
    }
  }

  /** A failure of an engine at a time of its ticker. */
  private record EngineFailure(Worker engine, long at) {
    boolean byItself() {
      return engine.failureSigns().failsByItself(at);
    }
  }

  private final FaultRecords records;
  private final String id;
  private final Supplier<FailingClients.Client> client;
  private final BooleanSupplier inOrder;

  /** Hash of endpoint and body; unset if the request is not remembered. */
  private long key;

  private boolean keyed;

  /** Failures of engines that requests with this body had before. */
  private int before;

  private List<Worker> failed = List.of();

  /** Engines that failed after the request; at most {@link #MOST_ENGINES} and one per release. */
  private List<EngineFailure> engines = List.of();

  /** True if no worker has answered the request since an engine failed. */
  private boolean unanswered;

  private boolean pardoned;

  /** The worker with a charge that can be withdrawn. */
  private @Nullable Worker charged;

  private int chargedIn;

  /** The failed worker that is charged if another worker serves the request. */
  private @Nullable Worker unproven;

  private Failure unprovenAs = Failure.ERROR;

  /**
   * @param id id of the request for the log
   * @param client the client; called after failures only
   * @param inOrder true if engines compute the prompt in the order of arrival; called after
   *     failures only
   */
  public RequestFaults(
      FaultRecords records,
      String id,
      Supplier<FailingClients.Client> client,
      BooleanSupplier inOrder) {
    this.records = records;
    this.id = id;
    this.client = client;
    this.inOrder = inOrder;
  }

  /**
   * Sets the body. From then on the request is remembered.
   *
   * @param endpoint hash of the endpoint
   */
  public void of(int endpoint, byte[] body, int length) {
    if (length > 0 && records.bodies().enabled()) {
      keyed = true;
      key = BodyHash.of(body, length) + endpoint * 0x9E3779B97F4A7C15L;
      before = records.bodies().engines(key);
    }
  }

  /** Returns true if the request must not be sent, and counts it. */
  public boolean refused() {
    boolean poison = before >= MOST_ENGINES;
    if (poison) {
      records.bodies().refuse();
    }
    return poison;
  }

  /** Returns true if another engine may get the request. */
  public boolean mayGoOn() {
    if (mayPardon()) {
      Optional<EngineFailure> first = engines.stream().filter(EngineFailure::byItself).findFirst();
      first.ifPresent(engines::remove);
      pardoned = first.isPresent();
    }
    return before + engines.size() < MOST_ENGINES;
  }

  /**
   * Counts each engine in any case. Requests with the same prompt that follow this one would look
   * like other requests at it.
   */
  public void countsEach() {
    pardoned = true;
  }

  /** Returns true if {@link #mayGoOn} can change soon, as other requests at the engines end. */
  public boolean undecided() {
    return mayPardon()
        && engines.stream().anyMatch(each -> each.engine.failureSigns().mayFailByItself());
  }

  private boolean mayPardon() {
    return !pardoned && before == 0 && engines.size() == MOST_ENGINES;
  }

  /**
   * Faults of a further request with the same body, which may go on only as far as this one may.
   * Its faults do not limit this one.
   */
  public RequestFaults ofFurtherRequest() {
    RequestFaults further = new RequestFaults(records, id, client, inOrder);
    further.before = before;
    further.pardoned = true;
    further.engines = new ArrayList<>(engines);
    return further;
  }

  /** Returns true if an engine failed after it got this request. */
  public boolean suspect() {
    return !engines.isEmpty();
  }

  /** Settles the lease of a failed attempt. */
  public void failed(Lease lease, Failure failure, Evidence evidence) {
    Worker worker = lease.worker();
    boolean again = failedBefore(worker);
    boolean suspect = records.clients().failed(client.get(), worker);
    if (failed.isEmpty()) {
      failed = new ArrayList<>(2);
    }
    failed.add(worker);
    boolean counts =
        switch (evidence) {
          case ENGINE_ENDED -> !survived(lease);
          case ENGINE_ANSWERED -> true;
          case MAYBE_WELL -> false;
        };
    if (counts) {
      engineFailed(lease);
    }
    if (again) {
      withdraw();
      lease.settle(new Outcome.Failed(failure, false));
    } else if (suspect) {
      unproven = worker;
      unprovenAs = failure;
      lease.settle(new Outcome.Failed(failure, false));
    } else {
      lease.failed(failure);
      charged = worker;
      chargedIn = worker.breaker().run();
    }
  }

  /** True if the engine has survived the prompt of the request, and none did before. */
  private boolean survived(Lease lease) {
    Worker worker = lease.worker();
    // A request for an adapter waits for a slot, and later ones pass it.
    boolean adapters = worker.bases().size() < worker.models().size();
    boolean first =
        !pardoned
            && before == 0
            && !adapters
            && worker.failureSigns().hasOutlived(lease)
            && inOrder.getAsBoolean();
    pardoned |= first;
    return first;
  }

  /** A decode worker can fail because a prefill worker did, so only the same role counts. */
  private boolean failedBefore(Worker worker) {
    for (Worker other : failed) {
      if (other != worker && other.spec().role() == worker.spec().role()) {
        return true;
      }
    }
    return false;
  }

  private void withdraw() {
    unproven = null;
    if (charged != null) {
      charged.forgive(chargedIn);
      charged = null;
    }
  }

  /** Records that an engine failed after it got the request. To be called before the settlement. */
  public void engineFailed(Lease lease) {
    Worker worker = lease.worker();
    boolean again = engines.stream().anyMatch(each -> each.engine == worker);
    if (again || worker.failureSigns().failingSince(lease.placedAt())) {
      return;
    }
    if (keyed && before == 1 && records.bodies().failedOn(key, worker)) {
      before = 0; // an engine that fails again after the same body counts once
    }
    if (engines.isEmpty()) {
      engines = new ArrayList<>(MOST_ENGINES);
    }
    engines.add(new EngineFailure(worker, worker.now()));
    unanswered = true;
  }

  /**
   * Records that a worker answered the request.
   *
   * @param well false for a client error
   */
  public void answered(boolean well) {
    unanswered = false;
    if (keyed) {
      records.bodies().answered(key);
    }
    if (well) {
      Worker failing = unproven;
      unproven = null;
      if (failing != null) {
        failing.charge(unprovenAs);
      }
      if (!records.clients().none()) {
        records.clients().succeeded(client.get());
      }
    }
  }

  /** Records the end of the request. */
  public void ended() {
    if (keyed && unanswered) {
      engines.forEach(each -> records.bodies().failed(key, each.engine, id));
    }
    unanswered = false;
  }
}

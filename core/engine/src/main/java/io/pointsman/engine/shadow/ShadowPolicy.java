package io.pointsman.engine.shadow;

import io.pointsman.engine.Decision;
import io.pointsman.engine.EngineListener;
import io.pointsman.engine.EngineSettings;
import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetListener;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.FleetSnapshot;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.LeaseView;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Usage;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.kv.KvKnowledge;
import io.pointsman.engine.policy.AnswerLearner;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.catalog.PolicyParts;
import io.pointsman.engine.policy.catalog.PolicySetup;
import io.pointsman.engine.policy.cost.CostSettings;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * A second policy that decides on live traffic without effect on it. It decides every first
 * placement of a request on a copy of the fleet with its own loads. The request counts there on the
 * chosen worker until the real one ends. Another copy follows the acting policy, so both are
 * measured in the same way: hits, times to first token, balance.
 *
 * <p>As a learner it only queues events, also for external proxies. One thread calls {@link #work}
 * periodically and processes them at their own times. Memory is bounded: one entry for each request
 * in flight and {@link #MOST_WAITING} queued. Further requests are dropped and counted. First
 * tokens and ends are those of the real requests, so effects of another placement on them are not
 * visible.
 */
public final class ShadowPolicy implements AnswerLearner, AutoCloseable {
  /** Maximum weight of the queue, in units of 8 bytes: 16 MiB, mostly prompt hashes. */
  static final long MOST_WAITING = 2L << 20;

  /** Weight of an event without its prompt hashes. */
  static final long EVENT_WEIGHT = 32;

  /** Interval between two checks of the workers' eligibility. */
  private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

  /** An event of a real request, in order. */
  private sealed interface Event {
    long at();

    default long weight() {
      return EVENT_WEIGHT;
    }

    record Placed(RoutingRequest request, LeaseView lease, long at) implements Event {
      @Override
      public long weight() {
        return EVENT_WEIGHT + request.prefix().count();
      }
    }

    record Answered(LeaseView lease, long tokenAt, long at) implements Event {}

    record Ended(LeaseView lease, Outcome outcome, Usage usage, long at) implements Event {}
  }

  /** Creates a policy with its own learners. */
  @FunctionalInterface
  public interface Maker {
    /**
     * @param fleet the fleet to choose from; parts that follow a fleet must follow this one
     */
    PolicySetup make(Fleet fleet, PolicyParts parts);
  }

  /**
   * The shadow policy.
   *
   * @param isActing true if it equals the acting policy. Its caches then match the real ones, so it
   *     receives KV events and reported cache hits. Otherwise another policy has filled the real
   *     caches, and it uses only its own placements.
   */
  public record Second(Maker maker, boolean isActing) {}

  private final Fleet real;
  private final Ticker ticker;
  private final boolean sameCaches;
  private final RoutingEngine engine;
  private final ShadowState acting;
  private final ShadowState shadow;
  private final Queue<Event> events = new ConcurrentLinkedQueue<>();
  private final AtomicLong waiting = new AtomicLong();
  private final AtomicReference<@Nullable FleetSnapshot> changed = new AtomicReference<>();

  /** The real requests in flight that are followed. */
  private final Set<LeaseView> followed = ConcurrentHashMap.newKeySet();

  private final FleetListener follower = changed::set;
  private volatile boolean closed;
  private final LongAdder dropped = new LongAdder();
  private final LongAdder failures = new LongAdder();
  private volatile ShadowReport report = ShadowReport.NOTHING;

  // Owned by the working thread.
  private @Nullable FleetSnapshot toFollow;
  private long now;
  private long lookedAt;
  private long agreed;
  private long refused;

  /**
   * Starts to follow {@code real}.
   *
   * @param policy the shadow policy
   * @param parts parts of the acting policy, with the real engine's clock
   * @param models settings of the cache and time models; their memory is used twice
   */
  public ShadowPolicy(
      Fleet real,
      FleetSettings settings,
      Second policy,
      PolicyParts parts,
      EngineSettings engineSettings,
      CostSettings models) {
    this.real = real;
    ticker = parts.ticker();
    now = ticker.nanos();
    lookedAt = now - LOOK_NANOS;
    Ticker eventTime = () -> now;
    FleetSettings all = settings.withMaxWorkers(real.slots());
    acting = new ShadowState(all, models, eventTime, null);
    shadow = new ShadowState(all, models, eventTime, acting);
    sameCaches = policy.isActing();
    KvKnowledge known = sameCaches ? parts.kv().unseen() : KvKnowledge.none(eventTime);
    PolicySetup setup =
        policy.maker().make(shadow.fleet(), parts.shadow(eventTime, known, sameCaches));
    engine =
        new RoutingEngine(
            shadow.fleet(), setup, engineSettings, new FaultCounter(), eventTime, parts.random());
    real.listen(follower);
  }

  @Override
  public void placed(RoutingRequest request, LeaseView lease) {
    if (closed || request.pinnedWorker() != null || !request.tried().isEmpty()) {
      return;
    }
    if (waiting.get() >= MOST_WAITING) {
      dropped.increment();
      return;
    }
    followed.add(lease);
    put(new Event.Placed(request.copy(), lease, lease.placedAt()));
  }

  @Override
  public void answered(RoutingRequest request, LeaseView lease, long at) {
    if (followed.contains(lease)) {
      put(new Event.Answered(lease, at, ticker.nanos()));
    }
  }

  @Override
  public void ended(RoutingRequest request, LeaseView lease, Outcome outcome) {
    if (followed.remove(lease)) {
      put(new Event.Ended(lease, outcome, lease.usage(), ticker.nanos()));
    }
  }

  /** Ends the comparison. Requests in progress are no longer followed. */
  @Override
  public void close() {
    closed = true;
    real.ignore(follower);
    followed.clear();
  }

  private void put(Event event) {
    waiting.addAndGet(event.weight());
    events.add(event);
  }

  /** Ignored: the fleet reports departures. */
  @Override
  public void forget(Worker worker) {}

  /** Processes the queued events; to be called by one thread at a time, every few milliseconds. */
  public void work() {
    boolean news = follow();
    for (Event next = events.poll(); next != null; next = events.poll()) {
      waiting.addAndGet(-next.weight());
      Event event = next;
      now = Math.max(now, event.at());
      guarded(() -> happened(event));
      news = true;
    }
    if (news || dropped.sum() != report.dropped()) {
      report =
          new ShadowReport(
              acting.report(), shadow.report(), agreed, refused, dropped.sum(), failures.sum());
    }
  }

  /**
   * Copies the fleet's changes.
   *
   * @return true if there were any
   */
  private boolean follow() {
    FleetSnapshot news = changed.getAndSet(null);
    FleetSnapshot snapshot = news == null ? toFollow : news;
    toFollow = null;
    if (snapshot != null) {
      guarded(
          () -> {
            boolean actingHasAll = acting.follow(snapshot);
            boolean shadowHasAll = shadow.follow(snapshot);
            toFollow = actingHasAll && shadowHasAll ? null : snapshot;
            look();
          });
    }
    return snapshot != null;
  }

  private void guarded(Runnable step) {
    try {
      step.run();
    } catch (RuntimeException _) {
      failures.increment();
    }
  }

  private void happened(Event event) {
    switch (event) {
      case Event.Placed(RoutingRequest request, LeaseView lease, long _) -> {
        if (now - lookedAt >= LOOK_NANOS) {
          look();
        }
        follow(request, lease);
      }
      case Event.Answered(LeaseView lease, long tokenAt, long _) -> {
        acting.answered(lease, tokenAt);
        shadow.answered(lease, tokenAt);
      }
      case Event.Ended(LeaseView lease, Outcome outcome, Usage usage, long _) -> {
        acting.ended(lease, outcome, usage, true);
        shadow.ended(lease, outcome, usage, sameCaches);
      }
    }
  }

  private void look() {
    lookedAt = now;
    FleetSnapshot snapshot = real.snapshot();
    long present = ticker.nanos();
    acting.look(snapshot, present);
    shadow.look(snapshot, present);
  }

  private void follow(RoutingRequest request, LeaseView lease) {
    Worker same = acting.own(lease.worker().id());
    if (same == null) {
      return;
    }
    Lease copy = copyOf(lease, same);
    if (copy == null) {
      // The real worker became eligible since the last look.
      look();
      copy = copyOf(lease, same);
    }
    if (copy == null) {
      return;
    }
    acting.placed(request, lease, copy, acting.read(request, same, now));
    RoutingRequest asked = request.copy();
    if (engine.attempt(asked) instanceof Decision.Routed(Lease own)) {
      shadow.placed(asked, lease, own, shadow.read(asked, own.worker(), now));
      agreed += own.worker().id().equals(lease.worker().id()) ? 1 : 0;
    } else {
      refused++;
    }
  }

  private @Nullable Lease copyOf(LeaseView lease, Worker same) {
    return same.tryLease(now, lease.promptTokens(), 0, (_, _) -> {});
  }

  /** The results of both policies; may be some milliseconds old. */
  public ShadowReport report() {
    return report;
  }

  /** The number of followed requests in flight. */
  int following() {
    return followed.size();
  }

  /** The number of their copies on both fleets. */
  int running() {
    return acting.running() + shadow.running();
  }

  /** Counts the policy's faults; a request that it cannot place is not affected. */
  private final class FaultCounter implements EngineListener {
    @Override
    public void policyFailed(RuntimeException failure) {
      failures.increment();
    }
  }
}

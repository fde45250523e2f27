package io.pointsman.observe.activity;

import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.LeaseView;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Usage;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.Learner;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.proxy.telemetry.Blame;
import io.pointsman.proxy.telemetry.ProxyListener;
import io.pointsman.proxy.telemetry.RequestReport;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * Recent activity of the fleet. Registered as a learner after those of the policy, and as a
 * listener of the proxy. Memory: 26 KB for the hour, and about 4 KB for each worker with requests.
 * Thread-safe.
 */
public final class FleetActivity implements Learner {
  /** Interval at which {@link #sample} must be called. */
  public static final Duration STEP = Duration.ofSeconds(10);

  /** Number of points: one hour. */
  static final int POINTS = 360;

  /**
   * The figures of one step.
   *
   * @param at end of the step in ticker nanoseconds
   * @param inFlight requests on workers at that time
   */
  public record Point(long at, int inFlight, Figures figures) {}

  private final Fleet fleet;
  private final Ticker ticker;
  private final Tally all;
  private final AtomicReferenceArray<@Nullable OfWorker> bySlot;

  /** Oldest first. Guarded by this. */
  private final Deque<Point> points = new ArrayDeque<>(POINTS + 1);

  private record OfWorker(Worker worker, Tally tally) {}

  /**
   * @param slots number of slots of the fleet
   */
  public FleetActivity(Fleet fleet, int slots, Ticker ticker) {
    this.fleet = fleet;
    this.ticker = ticker;
    all = new Tally(ticker.nanos());
    bySlot = new AtomicReferenceArray<>(slots);
  }

  /** Returns a listener that counts requests and passes all events to {@code next}. */
  public ProxyListener around(ProxyListener next) {
    return new CountingListener(this, next);
  }

  /** Adds a point. */
  public synchronized void sample() {
    long now = ticker.nanos();
    int inFlight = 0;
    for (Worker worker : fleet.snapshot().workers()) {
      inFlight += worker.inFlight();
      Tally tally = of(worker);
      if (tally != null) {
        tally.sample(now);
      }
    }
    Figures figures = all.sample(now);
    if (figures.seconds() > 0) {
      points.add(new Point(now, inFlight, figures));
    }
    if (points.size() > POINTS) {
      points.removeFirst();
    }
  }

  public long now() {
    return ticker.nanos();
  }

  /** The points of the last hour, oldest first. */
  public synchronized List<Point> hour() {
    return List.copyOf(points);
  }

  /** The figures of the fleet over the last minute. */
  public Figures recent() {
    return all.recent(ticker.nanos());
  }

  /** The figures of a worker over the last minute. */
  public Figures recent(Worker worker) {
    Tally tally = of(worker);
    return tally == null ? Figures.NONE : tally.recent(ticker.nanos());
  }

  /** Null before the first request to the worker. */
  private @Nullable Tally of(Worker worker) {
    OfWorker found = bySlot.get(worker.slot());
    return found != null && found.worker == worker ? found.tally : null;
  }

  private Tally own(Worker worker) {
    OfWorker found = bySlot.get(worker.slot());
    while (found == null || found.worker != worker) {
      bySlot.compareAndSet(worker.slot(), found, new OfWorker(worker, new Tally(ticker.nanos())));
      found = bySlot.get(worker.slot());
    }
    return found.tally;
  }

  @Override
  public void placed(RoutingRequest request, LeaseView lease) {
    if (!request.isPreview()) {
      all.placed.increment();
      own(lease.worker()).placed.increment();
    }
  }

  @Override
  public void ended(RoutingRequest request, LeaseView lease, Outcome outcome) {
    if (!(outcome instanceof Outcome.Succeeded(boolean served)) || !served) {
      return;
    }
    Tally worker = of(lease.worker());
    if (worker == null) {
      return;
    }
    Usage usage = lease.usage();
    if (usage.completionTokens() > 0 && request.role() != Role.PREFILL) {
      all.tokens.add(usage.completionTokens());
      worker.tokens.add(usage.completionTokens());
    }
    // A decode after a separate prefill does not use its own cache.
    if (request.role() != Role.DECODE) {
      hits(request, lease, usage, worker);
    }
  }

  private void hits(RoutingRequest request, LeaseView lease, Usage usage, Tally worker) {
    boolean counted = usage.promptTokens() > 0;
    int prompt = counted ? usage.promptTokens() : lease.promptTokens();
    if (request.result().expectsHits()) {
      long expected = Math.round(prompt * request.prefix().ratio(request.result().matchedBlocks()));
      add(all, worker, prompt, expected, true);
    }
    if (counted && usage.cachedTokens() >= 0) {
      add(all, worker, prompt, Math.min(prompt, usage.cachedTokens()), false);
    }
  }

  private static void add(Tally all, Tally worker, int prompt, long cached, boolean expected) {
    (expected ? all.predictable : all.reportable).add(prompt);
    (expected ? all.predicted : all.reported).add(cached);
    (expected ? worker.predictable : worker.reportable).add(prompt);
    (expected ? worker.predicted : worker.reported).add(cached);
  }

  /** Keeps the worker's figures: its next request may come soon. */
  @Override
  public void forget(Worker worker) {}

  /** Counts the end of a request of the proxy. */
  void ended(RequestReport report) {
    all.ended.increment();
    if (report.result().blame() == Blame.UPSTREAM || report.result().blame() == Blame.ROUTER) {
      all.errors.increment();
    }
    Worker by = report.worker();
    Tally worker = by == null ? null : of(by);
    if (worker == null || !report.result().streamed() || report.times().firstByte() < 0) {
      return;
    }
    all.firstTokens.add(report.times().firstByte());
    worker.firstTokens.add(report.times().firstByte());
    if (report.traffic().usage().completionTokens() <= 0) {
      // The engine reports no counts, or nobody reads them: about one token in each event.
      all.tokens.add(report.traffic().chunksOut());
      worker.tokens.add(report.traffic().chunksOut());
    }
  }
}

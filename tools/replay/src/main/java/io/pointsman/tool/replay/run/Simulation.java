package io.pointsman.tool.replay.run;

import io.pointsman.engine.Decision;
import io.pointsman.engine.EngineListener;
import io.pointsman.engine.EngineSettings;
import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.deferral.Deferral;
import io.pointsman.engine.env.RandomSource;
import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.engine.kv.KvIndex;
import io.pointsman.engine.kv.KvKnowledge;
import io.pointsman.engine.kv.TokenKeys;
import io.pointsman.engine.policy.CacheMissAttribution;
import io.pointsman.engine.policy.Insight;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.catalog.PolicyParts;
import io.pointsman.engine.policy.catalog.PolicySetup;
import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.engine.prefix.TokenIds;
import io.pointsman.tool.replay.run.SimulationSettings.Announcements;
import io.pointsman.tool.replay.run.SimulationSettings.Change;
import io.pointsman.tool.replay.trace.Trace;
import io.pointsman.tool.replay.trace.TraceRequest;
import io.pointsman.tool.sim.cache.PromptOrigin;
import io.pointsman.tool.sim.schedule.EngineLimits;
import io.pointsman.tool.sim.schedule.Scheduler;
import io.pointsman.tool.sim.schedule.SimLatencyModel;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Queue;
import java.util.Set;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/**
 * One run: a trace sent through the production engine to simulated engines, in simulated time. The
 * next event is the earliest of an arrival, the end of an engine's step, and a fleet change. At
 * equal times engines go first, so a decision uses their results.
 */
public final class Simulation {
  private static final long KV_BYTES = 512L << 20;

  /** For text prompts. */
  private static final int BYTES_PER_TOKEN = 4;

  private final SimulationSettings settings;
  private final Trace trace;
  private final SimulatedTime time = new SimulatedTime();
  private final Fleet fleet;
  private final KvIndex kv;
  private final SplittableRandom lossRandom;
  private final Map<Worker, EventLine> lines = new LinkedHashMap<>();
  private final FleetView view = new FleetView();
  private final RoutingEngine engine;
  private final Deferral deferral;

  /** Time of the next check of deferred requests. */
  private long wakeAt = Scheduler.NEVER;

  /** The policy's diagnostics; null if it does not predict. */
  private final @Nullable Insight insight;

  private final Map<Integer, SimWorker> present = new HashMap<>();
  private final List<SimWorker> all = new ArrayList<>();

  /** The present engines; scanned for the next event. */
  private SimWorker[] running = {};

  private final PriorityQueue<Arrival> arrivals =
      new PriorityQueue<>(Comparator.comparingLong(Arrival::at).thenComparingInt(Arrival::index));

  /** Departure times of clients with limited patience. */
  private final PriorityQueue<Arrival> departures =
      new PriorityQueue<>(Comparator.comparingLong(Arrival::at).thenComparingInt(Arrival::index));

  /** Deferred requests, by the index of their request. */
  private final Map<Integer, Waiter> waiters = new HashMap<>();

  private final Map<Integer, List<Integer>> followers = new HashMap<>();
  private final Queue<Change> changes;
  private final ReplayedRequest[] exchanges;
  private final MergedCache merged;

  /** Converts prompts to the engines' blocks. */
  private final BlockCut cut;

  /** The limits of each engine. */
  private final EngineLimits limits;

  private record Arrival(long at, int index) {}

  private Simulation(Trace trace, PolicyMaker policy, SimulationSettings settings) {
    this.trace = trace;
    this.settings = settings;
    changes = new ArrayDeque<>(settings.changes());
    cut = new BlockCut(trace.blockTokens(), settings.blockTokens());
    int blocks = Math.max(1, settings.kvTokens() / cut.engineTokens());
    limits = settings.engine().limits(blocks, cut.engineTokens(), Integer.MAX_VALUE);
    merged = new MergedCache(trace.blockTokens(), (long) settings.workers() * settings.kvTokens());
    exchanges = new ReplayedRequest[trace.requests().size()];
    SplittableRandom random = new SplittableRandom(settings.seed());
    RandomSource source = random::nextInt;
    fleet = new Fleet(FleetSettings.DEFAULTS, time::nanos);
    int maxWorkers = FleetSettings.DEFAULTS.maxWorkers();
    kv = new KvIndex(KV_BYTES, maxWorkers, time::nanos);
    lossRandom = new SplittableRandom(settings.seed());
    PolicyParts parts =
        new PolicyParts(
            time::nanos,
            source,
            maxWorkers,
            settings.policies(),
            new KvKnowledge(kv, TokenKeys.NONE));
    PolicySetup setup = policy.make(parts, view);
    insight = setup.insight();
    engine =
        new RoutingEngine(
            fleet, setup, EngineSettings.DEFAULTS, new FaultsEndTheRun(), time::nanos, source);
    deferral = new Deferral(engine, settings.deferral(), time::nanos);
    for (int i = 0; i < settings.workers(); i++) {
      add(i);
    }
  }

  /**
   * Runs {@code trace} to its end. Requests longer than an engine's KV memory are not served.
   *
   * @throws IllegalStateException if the policy throws
   */
  public static RunResult run(Trace trace, PolicyMaker policy, SimulationSettings settings) {
    return new Simulation(trace, policy, settings).run();
  }

  private void add(int index) {
    Worker worker = fleet.add(WorkerSpec.of("http://engine-" + index));
    fleet.learnModels(worker, Set.of("replayed"));
    if (settings.policies().cost().kvTokens() == settings.kvTokens()) {
      worker.learnKvTokens(settings.kvTokens());
    }
    double slowness = settings.slow().getOrDefault(index, 1.0);
    SimLatencyModel latency = settings.engine().latency();
    SimWorker simulated =
        new SimWorker(worker, index, all.size(), time.nanos(), limits, latency, slowness);
    view.put(simulated);
    Announcements announcements = settings.announcements();
    if (announcements != null && announcements.any()) {
      EventLine line =
          new EventLine(worker, kv, time, cut.engineTokens(), announcements, lossRandom);
      lines.put(worker, line);
      simulated.scheduler().cache().listen(line);
    }
    present.put(index, simulated);
    all.add(simulated);
    running = present.values().toArray(new SimWorker[0]);
    worker.probed(true);
  }

  private RunResult run() {
    List<TraceRequest> requests = trace.requests();
    for (int i = 0; i < requests.size(); i++) {
      TraceRequest request = requests.get(i);
      if (request.follows() < 0) {
        arrivals.add(new Arrival(nanos(request.at()), i));
      } else {
        followers.computeIfAbsent(request.follows(), _ -> new ArrayList<>()).add(i);
      }
    }
    while (step()) {}
    CacheMissAttribution lost = insight == null ? null : insight.cacheMisses();
    return new RunResult(exchanges, all, time.nanos(), merged.hit(), lost);
  }

  private static long nanos(double millis) {
    return Math.round(millis * 1e6);
  }

  /** Processes the next event; false if none is left. */
  private boolean step() {
    SimWorker first = null;
    long at = Scheduler.NEVER;
    for (SimWorker worker : running) {
      if (worker.next() < at) {
        at = worker.next();
        first = worker;
      }
    }
    Arrival arrival = arrivals.peek();
    Change change = changes.peek();
    long next = Math.min(at, at(arrival));
    Arrival departure = departures.peek();
    if (departure != null
        && departure.at() < Math.min(next, wakeAt)
        && !before(change, departure)) {
      departures.remove();
      leave(departure);
    } else if (change != null && nanos(change.seconds() * 1000) < Math.min(next, wakeAt)) {
      changes.remove();
      goTo(Math.max(time.nanos(), nanos(change.seconds() * 1000)));
      apply(change);
    } else if (wakeAt < next) {
      goTo(wakeAt);
      wakeAt = Scheduler.NEVER;
      deferral.wake();
      wakeLater();
    } else if (first != null && at <= at(arrival)) {
      goTo(at);
      first.advance(at);
    } else if (arrival != null) {
      arrivals.remove();
      goTo(arrival.at());
      arrive(arrival.index());
    }
    return first != null || arrival != null || departure != null || wakeAt != Scheduler.NEVER;
  }

  private static boolean before(@Nullable Change change, Arrival departure) {
    return change != null && nanos(change.seconds() * 1000) <= departure.at();
  }

  /** Lets a client leave at any stage of its request; dependent requests do not follow. */
  private void leave(Arrival departure) {
    ReplayedRequest exchange = exchanges[departure.index()];
    if (exchange == null || exchange.ended()) {
      return;
    }
    goTo(departure.at());
    Waiter waiter = waiters.remove(departure.index());
    if (waiter != null) {
      deferral.leave(waiter);
    }
    exchange.leave();
  }

  /** Advances the time and delivers events that arrive meanwhile. */
  private void goTo(long nanos) {
    time.goTo(nanos);
    lines.values().forEach(EventLine::deliver);
  }

  private void wakeLater() {
    long nanos = deferral.wakeAfterNanos();
    if (nanos != Deferral.NO_WAKE) {
      wakeAt = time.nanos() + nanos;
    }
  }

  private static long at(@Nullable Arrival arrival) {
    return arrival == null ? Scheduler.NEVER : arrival.at();
  }

  private void arrive(int index) {
    TraceRequest request = trace.requests().get(index);
    if ((long) request.inputTokens() + request.outputTokens() > limits.longestRequest()) {
      // No engine could serve it, so it is skipped together with its dependent requests.
      return;
    }
    merged.take(request);
    boolean hitsReported = settings.unreported() == 0;
    ReplayedRequest exchange =
        new ReplayedRequest(index, request, cut.blocks(request), hitsReported, time, this::ended);
    exchanges[index] = exchange;
    if (request.patience() < Double.POSITIVE_INFINITY) {
      departures.add(new Arrival(time.nanos() + nanos(request.patience()), index));
    }
    route(exchange, request);
  }

  private void route(ReplayedRequest exchange, TraceRequest request) {
    PrefixBlocks prefix = key(exchange, request);
    RoutingRequest asked = RoutingRequest.builder().model("replayed").prefix(prefix).build();
    view.decidingOn(exchange);
    Waiter waiter = new Waiter(exchange, asked);
    Decision decision = deferral.decide(waiter);
    if (decision == null) {
      waiters.put(exchange.index(), waiter);
      wakeLater();
    } else {
      decided(exchange, asked, decision);
    }
  }

  private void decided(ReplayedRequest exchange, RoutingRequest asked, Decision decision) {
    if (decision instanceof Decision.Routed(Lease lease)) {
      exchange.send(view.engine(lease.worker()), lease, asked.result().predictedMillis());
    }
  }

  /** A request that may be deferred. */
  private final class Waiter implements Deferral.Waiter {
    private final ReplayedRequest exchange;
    private final RoutingRequest request;

    Waiter(ReplayedRequest exchange, RoutingRequest request) {
      this.exchange = exchange;
      this.request = request;
    }

    @Override
    public RoutingRequest request() {
      return request;
    }

    @Override
    public void decided(Decision decision, long deferredNanos) {
      waiters.remove(exchange.index());
      exchange.deferred(deferredNanos);
      Simulation.this.decided(exchange, request, decision);
    }

    @Override
    public void failed(RuntimeException fault) {
      throw fault;
    }
  }

  private PrefixBlocks key(ReplayedRequest exchange, TraceRequest request) {
    long[] blocks = request.blocks();
    int length = request.inputTokens();
    PrefixBlocks text =
        settings.unreported() == 0
            ? new PrefixBlocks(blocks, blocks.length, length, trace.blockTokens(), length)
            : unreported(length, blocks);
    Announcements announcements = settings.announcements();
    if (announcements == null) {
      return text;
    }
    int[] ids = ids(exchange, blocks, length);
    exchange.of(new PromptOrigin(ids, null, ""));
    return announcements.text() ? text : TokenIds.key(0, ids, length, length);
  }

  /** A text prompt: the router's estimate of its length is wrong to some degree. */
  private PrefixBlocks unreported(int tokens, long[] blocks) {
    double error =
        blocks.length == 0
            ? 0
            : settings.unreported() * (PrefixBlocks.mix(blocks[0]) / (double) Long.MAX_VALUE);
    int taken = Math.max(1, (int) Math.round(tokens * (1 + error)));
    int bytes = Math.multiplyExact(tokens, BYTES_PER_TOKEN);
    int blockBytes = Math.multiplyExact(trace.blockTokens(), BYTES_PER_TOKEN);
    return new PrefixBlocks(blocks, blocks.length, bytes, blockBytes, taken).asText();
  }

  /** Token ids that are equal where hashes are equal; without hashes they are unique. */
  private int[] ids(ReplayedRequest exchange, long[] blocks, int length) {
    int[] ids = new int[length];
    long[] engineBlocks = exchange.engineBlocks();
    long rest = ~(blocks.length == 0 ? exchange.index() : blocks[blocks.length - 1]);
    for (int i = 0; i < length; i++) {
      int block = i / cut.engineTokens();
      boolean complete = block < engineBlocks.length;
      long hash = complete ? engineBlocks[block] : rest;
      ids[i] = (int) (PrefixBlocks.mix(hash + i) >>> 33);
    }
    return ids;
  }

  private void ended(ReplayedRequest exchange) {
    for (int follower : followers.getOrDefault(exchange.index(), List.of())) {
      long at = time.nanos() + nanos(trace.requests().get(follower).at());
      arrivals.add(new Arrival(at, follower));
    }
  }

  private void apply(Change change) {
    SimWorker lost = present.remove(change.worker());
    if (lost == null) {
      add(change.worker());
      return;
    }
    running = present.values().toArray(new SimWorker[0]);
    lines.remove(lost.worker());
    fleet.remove(lost.worker().id());
    for (ReplayedRequest exchange : lost.lose(time.nanos())) {
      Lease lease = exchange.lost();
      if (lease != null) {
        lease.failed(Failure.ERROR);
      }
      route(exchange, trace.requests().get(exchange.index()));
    }
  }

  /** Ends the run, because a policy's fault makes its result invalid. */
  private static final class FaultsEndTheRun implements EngineListener {
    @Override
    public void policyFailed(RuntimeException failure) {
      throw new IllegalStateException("policy: " + failure, failure);
    }
  }
}

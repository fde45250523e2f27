package io.pointsman.observe.metrics;

import static java.util.Objects.requireNonNull;

import io.pointsman.proxy.identity.ClientIdentity;
import io.pointsman.proxy.quota.ClientLimit;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.telemetry.Blame;
import io.pointsman.proxy.telemetry.ProxyListener;
import io.pointsman.proxy.telemetry.RequestEvent;
import io.pointsman.proxy.telemetry.RequestEvent.DeferralEnded;
import io.pointsman.proxy.telemetry.RequestEvent.LimitReached;
import io.pointsman.proxy.telemetry.RequestEvent.ModelMissing;
import io.pointsman.proxy.telemetry.RequestEvent.PromptPrefilled;
import io.pointsman.proxy.telemetry.RequestEvent.QueueWaitEnded;
import io.pointsman.proxy.telemetry.RequestEvent.RequestEnded;
import io.pointsman.proxy.telemetry.RequestEvent.RequestRetried;
import io.pointsman.proxy.telemetry.RequestEvent.RequestStarted;
import io.pointsman.proxy.telemetry.RequestEvent.RouterAnswered;
import io.pointsman.proxy.telemetry.RequestEvent.SessionEnded;
import io.pointsman.proxy.telemetry.RequestEvent.WorkerAwaited;
import io.pointsman.proxy.telemetry.RequestEvent.WorkerChosen;
import io.pointsman.proxy.telemetry.RequestReport;
import io.pointsman.proxy.telemetry.RetryReason;
import io.pointsman.request.Endpoint;
import io.prometheus.metrics.core.datapoints.CounterDataPoint;
import io.prometheus.metrics.core.datapoints.DistributionDataPoint;
import io.prometheus.metrics.core.metrics.Counter;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Counts requests of the built-in proxy. Series are resolved once; counting allocates nothing after
 * the first request of each kind.
 */
final class ProxyMetrics implements ProxyListener {
  private static final double NANOS = 1e9;

  /** Indexes of error kinds without a status, after those of the statuses. */
  private static final int LEFT = StatusLabels.size();

  private static final int CUT = LEFT + 1;

  private final Map<Endpoint, EndpointSeries> endpoints = new EnumMap<>(Endpoint.class);
  private final Map<RetryReason, CounterDataPoint> retries = new EnumMap<>(RetryReason.class);
  private final Map<Blame, AtomicReferenceArray<@Nullable CounterDataPoint>> errorSeries =
      new EnumMap<>(Blame.class);
  private final ModelLabels models;
  private final Counter errors;
  private final Map<String, CounterDataPoint> shed = new HashMap<>();
  private final ClientSeries clients;
  private final DistributionDataPoint queueWait;
  private final DistributionDataPoint deferrals;
  private final WorkerDemand demand;
  private final LongAdder started = new LongAdder();
  private final LongAdder ended = new LongAdder();
  private final LongAdder chunks = new LongAdder();
  private final LongAdder bytes = new LongAdder();

  /** Counts under the names of other routers; null without them. */
  private volatile @Nullable Consumer<RequestReport> others;

  private volatile boolean readsUsage;

  ProxyMetrics(Meters meters, ModelLabels models, WorkerDemand demand) {
    this.models = models;
    this.demand = demand;
    EndpointSeries.Families families = EndpointSeries.Families.in(meters, models);
    for (Endpoint endpoint : Endpoint.values()) {
      endpoints.put(endpoint, new EndpointSeries(families, endpoint));
    }
    Counter retried = meters.counter(RequestMetric.RETRIES);
    for (RetryReason reason : RetryReason.values()) {
      retries.put(reason, retried.labelValues(EngineMetrics.label(reason)));
    }
    errors = meters.counter(RequestMetric.ERRORS);
    Counter refused = meters.counter(RequestMetric.SHED);
    for (ProxyError error : ProxyError.values()) {
      if (error.sheds()) {
        shed.put(error.code(), refused.labelValues(error.code()));
      }
    }
    clients = new ClientSeries(meters);
    for (Blame blame : Blame.values()) {
      errorSeries.put(blame, new AtomicReferenceArray<>(CUT + 1));
    }
    deferrals = meters.histogram(RequestMetric.DEFERRAL_SECONDS, Meters.FIRST_BYTE_SECONDS);
    queueWait = meters.histogram(RequestMetric.QUEUE_WAIT_SECONDS, Meters.FIRST_BYTE_SECONDS);
    meters.pulled(RequestMetric.REQUESTS_IN_FLIGHT, sink -> sink.put(inFlight()));
    meters.pulled(RequestMetric.RESPONSE_CHUNKS, sink -> sink.put(chunks.sum()));
    meters.pulled(RequestMetric.RESPONSE_BYTES, sink -> sink.put(bytes.sum()));
  }

  EndpointSeries of(Endpoint endpoint) {
    return requireNonNull(endpoints.get(endpoint), "endpoint");
  }

  /**
   * Counts requests also under names of other routers, from here on.
   *
   * @param counts null: under no other names
   * @param usage true if they need the token counts of engines
   */
  void also(@Nullable Consumer<RequestReport> counts, boolean usage) {
    others = counts;
    readsUsage = usage;
  }

  /** Number of requests that named a model and have ended or wait for a worker, by model label. */
  Map<String, Long> incomingByModel() {
    Map<String, Long> byModel = new HashMap<>();
    // Read first: a wait that ends meanwhile is counted twice, not missed.
    Map<Integer, Long> waiting = demand.waitingByIndex();
    for (int model : models.named()) {
      long ended = endpoints.values().stream().mapToLong(series -> series.ended(model)).sum();
      byModel.merge(models.label(model), waiting.getOrDefault(model, 0L) + ended, Long::sum);
    }
    return byModel;
  }

  /**
   * Reads the ends first: a request that starts in between may be missing, but the result is never
   * negative.
   */
  private long inFlight() {
    long over = ended.sum();
    return started.sum() - over;
  }

  @Override
  public void on(RequestEvent event) {
    switch (event) {
      case RequestStarted _ -> started.increment();
      case LimitReached(ClientIdentity client, ClientLimit limit) -> clients.limited(client, limit);
      case QueueWaitEnded wait -> queueWait.observe(wait.nanos() / NANOS);
      case DeferralEnded deferral -> deferrals.observe(deferral.nanos() / NANOS);
      case WorkerAwaited(String model, boolean begins) -> awaits(model, begins);
      case RequestRetried(Endpoint endpoint, RetryReason reason) -> retried(endpoint, reason);
      case RequestEnded(RequestReport report) -> ended(report);
      case WorkerChosen _, PromptPrefilled _, ModelMissing _, SessionEnded _, RouterAnswered _ -> {}
    }
  }

  private void retried(Endpoint endpoint, RetryReason reason) {
    requireNonNull(retries.get(reason), "reason").inc();
    if (reason != RetryReason.STALE) {
      of(endpoint).retried();
    }
  }

  private void awaits(@Nullable String model, boolean begins) {
    demand.awaits(model, begins);
    if (begins) {
      demand.withoutWorker(model);
    }
  }

  private void ended(RequestReport report) {
    ended.increment();
    chunks.add(report.traffic().chunksOut());
    bytes.add(report.traffic().bytesOut());
    of(report.request().endpoint()).ended(report);
    clients.ended(report);
    Consumer<RequestReport> further = others;
    if (further != null) {
      further.accept(report);
    }
    if (report.result().blame() != Blame.NONE) {
      error(report.result().blame(), errorKind(report)).inc();
    }
    CounterDataPoint reason =
        report.result().reason() == null ? null : shed.get(report.result().reason());
    if (reason != null) {
      reason.inc();
    }
  }

  @Override
  public boolean readsUsage() {
    return readsUsage;
  }

  private CounterDataPoint error(Blame blame, int kind) {
    AtomicReferenceArray<@Nullable CounterDataPoint> byKind =
        requireNonNull(errorSeries.get(blame), "blame");
    CounterDataPoint series = byKind.get(kind);
    if (series == null) {
      series = errors.labelValues(EngineMetrics.label(blame), errorLabel(kind));
      byKind.set(kind, series);
    }
    return series;
  }

  private static int errorKind(RequestReport report) {
    if (report.result().clientLeft()) {
      return LEFT;
    }
    return report.result().status() < 400 ? CUT : StatusLabels.index(report.result().status());
  }

  private static String errorLabel(int kind) {
    if (kind == LEFT) {
      return "client_left";
    }
    return kind == CUT ? "cut" : StatusLabels.label(kind);
  }
}

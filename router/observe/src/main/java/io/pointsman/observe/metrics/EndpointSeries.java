package io.pointsman.observe.metrics;

import io.pointsman.proxy.telemetry.RequestReport;
import io.pointsman.request.Endpoint;
import io.prometheus.metrics.core.datapoints.CounterDataPoint;
import io.prometheus.metrics.core.datapoints.DistributionDataPoint;
import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.Histogram;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/** The series of one endpoint, each resolved once. Thread-safe. */
final class EndpointSeries {
  private static final double NANOS = 1e9;

  /** The meters with the series of all endpoints. */
  record Families(
      Counter requests,
      Histogram headers,
      Histogram firstBytes,
      Histogram durations,
      ModelLabels models) {
    static Families in(Meters meters, ModelLabels models) {
      return new Families(
          meters.counter(RequestMetric.REQUESTS),
          meters.histogram(RequestMetric.HEADERS_SECONDS, Meters.FIRST_BYTE_SECONDS),
          meters.histogram(RequestMetric.TTFT_SECONDS, Meters.FIRST_BYTE_SECONDS),
          meters.histogram(RequestMetric.DURATION_SECONDS, Meters.DURATION_SECONDS),
          models);
    }
  }

  private final Families families;
  private final Endpoint endpoint;
  private final DistributionDataPoint headers;
  private final DistributionDataPoint firstBytes;
  private final DistributionDataPoint durations;

  /** By status label, then by model label; created on first use. */
  private final AtomicReferenceArray<@Nullable CounterDataPoint> requests;

  private final LongAdder succeeded = new LongAdder();
  private final LongAdder retries = new LongAdder();

  EndpointSeries(Families families, Endpoint endpoint) {
    this.families = families;
    this.endpoint = endpoint;
    headers = families.headers.labelValues(endpoint.label());
    firstBytes = families.firstBytes.labelValues(endpoint.label());
    durations = families.durations.labelValues(endpoint.label());
    requests = new AtomicReferenceArray<>(StatusLabels.size() * families.models.size());
  }

  void retried() {
    retries.increment();
  }

  void ended(RequestReport report) {
    request(report).inc();
    if (report.result().status() / 100 == 2) {
      succeeded.increment();
    }
    observe(headers, report.times().head());
    if (report.result().streamed()) {
      observe(firstBytes, report.times().firstByte());
    }
    observe(durations, report.times().end());
  }

  /** Number of requests answered with 2xx. */
  long succeeded() {
    return succeeded.sum();
  }

  /** Number of further attempts, without resends over a new connection. */
  long retries() {
    return retries.sum();
  }

  /** Number of ended requests for the model label with this index. */
  long ended(int model) {
    long sum = 0;
    for (int status = 0; status < StatusLabels.size(); status++) {
      CounterDataPoint series = requests.get(status * families.models.size() + model);
      sum += series == null ? 0 : series.getLongValue();
    }
    return sum;
  }

  private static void observe(DistributionDataPoint series, long nanos) {
    if (nanos != RequestReport.NEVER) {
      series.observe(nanos / NANOS);
    }
  }

  private CounterDataPoint request(RequestReport report) {
    ModelLabels models = families.models;
    int status = StatusLabels.index(report.result().status());
    int model = models.index(report.model());
    int place = status * models.size() + model;
    CounterDataPoint series = requests.get(place);
    if (series == null) {
      series =
          families.requests.labelValues(
              endpoint.label(), StatusLabels.label(status), models.label(model));
      requests.set(place, series);
    }
    return series;
  }
}

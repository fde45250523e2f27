package io.pointsman.observe.metrics;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.fleet.Usage;
import io.pointsman.proxy.identity.ClientIdentity;
import io.pointsman.proxy.quota.ClientLimit;
import io.pointsman.proxy.telemetry.RequestReport;
import io.prometheus.metrics.core.datapoints.CounterDataPoint;
import io.prometheus.metrics.core.metrics.Counter;
import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Counts requests and tokens by client, for a bounded number of clients of each kind. */
final class ClientSeries {
  /** Maximum number of clients of a kind with their own label. */
  static final int MOST_CLIENTS = 64;

  static final String OTHER = "other";

  private final Counter requests;
  private final Counter tokens;
  private final Counter limited;

  /** Series by the name of the client; each has at most {@link #MOST_CLIENTS}, and one more. */
  private final Map<ClientIdentity.Kind, Map<String, Series>> byKind =
      new EnumMap<>(ClientIdentity.Kind.class);

  private record Series(
      String label,
      CounterDataPoint requests,
      CounterDataPoint promptTokens,
      CounterDataPoint outputTokens) {}

  ClientSeries(Meters meters) {
    requests = meters.counter(RequestMetric.CLIENT_REQUESTS);
    tokens = meters.counter(RequestMetric.CLIENT_TOKENS);
    limited = meters.counter(RequestMetric.CLIENT_LIMITED);
    for (ClientIdentity.Kind kind : ClientIdentity.Kind.values()) {
      byKind.put(kind, new ConcurrentHashMap<>());
    }
  }

  void ended(RequestReport report) {
    Series series = of(report.request().identity());
    series.requests.inc();
    Usage usage = report.traffic().usage();
    if (usage.promptTokens() > 0) {
      series.promptTokens.inc(usage.promptTokens());
    }
    if (usage.completionTokens() > 0) {
      series.outputTokens.inc(usage.completionTokens());
    }
  }

  void limited(ClientIdentity client, ClientLimit limit) {
    String source = EngineMetrics.label(client.kind());
    limited.labelValues(source, of(client).label, limit.label()).inc();
  }

  private Series of(ClientIdentity client) {
    Map<String, Series> named = requireNonNull(byKind.get(client.kind()), "kind");
    Series series = named.get(client.name());
    if (series == null && named.size() >= MOST_CLIENTS) {
      series = named.get(OTHER);
    }
    return series == null ? added(named, client) : series;
  }

  private synchronized Series added(Map<String, Series> named, ClientIdentity client) {
    String label = named.size() < MOST_CLIENTS ? client.name() : OTHER;
    String source = EngineMetrics.label(client.kind());
    return named.computeIfAbsent(
        label,
        _ ->
            new Series(
                label,
                requests.labelValues(source, label),
                tokens.labelValues(source, label, "prompt"),
                tokens.labelValues(source, label, "output")));
  }
}

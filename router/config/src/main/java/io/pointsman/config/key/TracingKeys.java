package io.pointsman.config.key;

import static io.pointsman.config.value.ValueTypes.bool;
import static io.pointsman.config.value.ValueTypes.constant;
import static io.pointsman.config.value.ValueTypes.decimal;
import static io.pointsman.config.value.ValueTypes.text;
import static io.pointsman.config.value.ValueTypes.texts;

import io.pointsman.config.settings.TracingSettings;
import java.util.List;

/** Keys of request tracing. */
public final class TracingKeys {
  public static final Key<Boolean> ENABLED =
      Key.of(
          "tracing.enabled",
          bool(),
          TracingSettings.DEFAULTS.enabled(),
          "Trace requests and send the spans to a collector.",
          "`false`: trace headers of clients pass unchanged.");

  public static final Key<String> ENDPOINT =
      Key.of(
          "tracing.endpoint",
          text("<url>", "a URL such as http://collector:4317", false),
          TracingSettings.DEFAULTS.endpoint(),
          "OTLP endpoint of the collector. With `http`, a URL without a path gets the path"
              + " `/v1/traces`.",
          "If the collector does not answer, spans are dropped and counted.");

  public static final Key<TracingSettings.Protocol> PROTOCOL =
      Key.of(
          "tracing.protocol",
          constant(TracingSettings.Protocol.class),
          TracingSettings.DEFAULTS.protocol(),
          "Protocol of the collector: `grpc` (OTLP over gRPC) or `http` (protobuf over HTTP).",
          "Collectors usually have another port for `http`: 4318.");

  public static final Key<Double> SAMPLING_RATIO =
      Key.of(
          "tracing.sampling-ratio",
          decimal(0, 1),
          TracingSettings.DEFAULTS.samplingRatio(),
          "Share of new traces that are exported. For traces that clients begin, the client's"
              + " sampling flag decides.",
          "`0`: only traces of clients are exported. `1`: all new traces are exported.");

  public static final Key<List<String>> EXCLUDED_PATHS =
      Key.of(
          "tracing.excluded-paths",
          texts("<path>", "paths that start with /"),
          TracingSettings.DEFAULTS.excludedPaths(),
          "Paths without traces. They must match exactly, without the query string.",
          "Trace headers of such requests pass unchanged.");

  public static final Key<String> SERVICE_NAME =
      Key.of(
          "tracing.service-name",
          text("<name>", "a name", false),
          TracingSettings.DEFAULTS.serviceName(),
          "Service name of the router in traces.",
          "Routers with the same name are distinguished by host and process.");

  private TracingKeys() {}

  static List<Key<?>> all() {
    return List.of(ENABLED, ENDPOINT, PROTOCOL, SAMPLING_RATIO, EXCLUDED_PATHS, SERVICE_NAME);
  }
}

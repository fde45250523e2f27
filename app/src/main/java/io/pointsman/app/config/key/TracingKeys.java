package io.pointsman.app.config.key;

import static io.pointsman.app.config.value.ValueTypes.bool;
import static io.pointsman.app.config.value.ValueTypes.constant;
import static io.pointsman.app.config.value.ValueTypes.decimal;
import static io.pointsman.app.config.value.ValueTypes.text;
import static io.pointsman.app.config.value.ValueTypes.texts;

import io.pointsman.app.tracing.TracingSettings;
import java.util.List;

/** Keys of request tracing. */
public final class TracingKeys {
  public static final Key<Boolean> ENABLED =
      Key.of(
          "tracing.enabled",
          bool(),
          TracingSettings.DEFAULTS.enabled(),
          "Whether requests are traced and their spans sent to a collector.",
          "false leaves trace headers as clients send them.");

  public static final Key<String> ENDPOINT =
      Key.of(
          "tracing.endpoint",
          text("<url>", "a URL such as http://collector:4317", false),
          TracingSettings.DEFAULTS.endpoint(),
          "Where the collector takes OTLP; by http a URL without a path means its /v1/traces.",
          "While nobody answers there, spans are dropped and counted.");

  public static final Key<TracingSettings.Protocol> PROTOCOL =
      Key.of(
          "tracing.protocol",
          constant(TracingSettings.Protocol.class),
          TracingSettings.DEFAULTS.protocol(),
          "What the collector speaks there: OTLP over gRPC, or protobuf over HTTP.",
          "The other one is usually taken on another port, 4318.");

  public static final Key<Double> SAMPLING_RATIO =
      Key.of(
          "tracing.sampling-ratio",
          decimal(0, 1),
          TracingSettings.DEFAULTS.samplingRatio(),
          "Share of the traces begun here that are exported; a client's own are if it says so.",
          "0 exports none but those of clients; 1 costs each request its spans.");

  public static final Key<List<String>> EXCLUDED_PATHS =
      Key.of(
          "tracing.excluded-paths",
          texts("<path>", "paths that start with /"),
          TracingSettings.DEFAULTS.excludedPaths(),
          "Paths whose requests are not traced, compared exactly and without the query string.",
          "Trace headers of such requests go on as they came.");

  public static final Key<String> SERVICE_NAME =
      Key.of(
          "tracing.service-name",
          text("<name>", "a name", false),
          TracingSettings.DEFAULTS.serviceName(),
          "How the router is called in traces.",
          "Several routers of one name are told apart by host and process.");

  private TracingKeys() {}

  static List<Key<?>> all() {
    return List.of(ENABLED, ENDPOINT, PROTOCOL, SAMPLING_RATIO, EXCLUDED_PATHS, SERVICE_NAME);
  }
}

package io.pointsman.compat.vllmrouter;

import static io.pointsman.compat.vllmrouter.Flag.flag;
import static io.pointsman.compat.vllmrouter.Translation.as;
import static io.pointsman.compat.vllmrouter.Translation.list;
import static io.pointsman.compat.vllmrouter.Translation.to;

import io.pointsman.compat.vllmrouter.Flag.Shape;
import io.pointsman.compat.vllmrouter.Flag.Source;
import io.pointsman.config.ConfigValues;
import io.pointsman.config.key.TracingKeys;
import java.util.List;
import java.util.Map;

/** Flags of vllm-router 0.1.17 for traces, exported by OTLP over gRPC. */
final class TracingFlags {
  private static final String ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT";

  private TracingFlags() {}

  static List<Flag> all() {
    return List.of(
        flag("--enable-trace", "trace requests")
            .shape(Shape.SWITCH)
            .only(Source.RUST)
            .honoured(
                "traces all requests to engines, also on unknown paths, but none that the router"
                    + " answers itself",
                to(TracingKeys.ENABLED, true)),
        flag("--otlp-traces-endpoint", "OTLP endpoint for traces, over gRPC")
            .only(Source.RUST)
            .honoured(
                "unset means the environment variable " + ENDPOINT + ", else localhost:4317",
                TracingFlags::endpoint),
        flag("--otel-sampling-ratio", "share of traces to export")
            .only(Source.RUST)
            .standard("1.0")
            .honoured(as(TracingKeys.SAMPLING_RATIO)),
        flag("--otel-excluded-paths", "paths without traces")
            .shape(Shape.LIST)
            .only(Source.RUST)
            .honoured(
                "unset means /health, /health_generate, /liveness and /readiness",
                list(TracingKeys.EXCLUDED_PATHS)));
  }

  /** Sets the values that apply without flags. */
  static void standard(ConfigValues values, Map<String, String> environment, Translation into) {
    values.set(TracingKeys.SERVICE_NAME, "vllm-router");
    String endpoint = environment.getOrDefault(ENDPOINT, "");
    if (!endpoint.isBlank()) {
      endpoint(new Given(ENDPOINT, List.of(endpoint.strip())), into);
    }
  }

  private static void endpoint(Given given, Translation into) {
    String url = given.value().contains("://") ? given.value() : "http://" + given.value();
    as(TracingKeys.ENDPOINT).apply(new Given(given.flag(), List.of(url)), into);
  }
}

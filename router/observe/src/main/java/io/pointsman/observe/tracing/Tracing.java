package io.pointsman.observe.tracing;

import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanBuilder;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.context.Context;
import io.opentelemetry.exporter.otlp.http.trace.OtlpHttpSpanExporter;
import io.opentelemetry.exporter.otlp.trace.OtlpGrpcSpanExporter;
import io.opentelemetry.sdk.resources.Resource;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.SpanLimits;
import io.opentelemetry.sdk.trace.export.SpanExporter;
import io.pointsman.config.settings.TracingSettings;
import io.pointsman.engine.env.Ticker;
import io.pointsman.proxy.telemetry.RequestTrace;
import io.pointsman.request.Endpoint;
import io.pointsman.request.RequestHeaders;
import java.time.Duration;
import java.util.Set;
import java.util.function.Supplier;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * Traces requests with OpenTelemetry and exports their spans by OTLP. Continues the traces of
 * clients. Loaded only if tracing is enabled.
 */
public final class Tracing implements ActiveTracing {
  private static final String SCOPE = "io.pointsman";
  private static final Duration EXPORT_TIMEOUT = Duration.ofSeconds(10);
  private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(5);
  private static final Duration LONGEST_FLUSH = Duration.ofSeconds(3);

  /**
   * Limits attribute values, because clients choose paths and models and must not fill the memory.
   */
  private static final int LONGEST_VALUE = 1024;

  private static final Set<String> METHODS =
      Set.of("GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH");

  /**
   * OpenTelemetry's own log, which is off because {@link SpanQueue} logs instead. The field
   * prevents garbage collection, which would reset its level.
   */
  private static final Logger QUIET = Logger.getLogger("io.opentelemetry");

  private final SdkTracerProvider provider;
  private final Tracer tracer;
  private final SpanQueue queue;
  private final ChangingSampler sampler;
  private volatile Set<String> excluded;
  private final Supplier<String> policy;

  private Tracing(
      TracingSettings settings,
      Resource resource,
      SpanQueue queue,
      Supplier<String> policy,
      String version) {
    this.queue = queue;
    this.policy = policy;
    excluded = Set.copyOf(settings.excludedPaths());
    sampler = new ChangingSampler(settings.samplingRatio());
    provider =
        SdkTracerProvider.builder()
            .setResource(resource)
            .setSampler(sampler)
            .setSpanLimits(SpanLimits.builder().setMaxAttributeValueLength(LONGEST_VALUE).build())
            .addSpanProcessor(queue)
            .build();
    tracer = provider.tracerBuilder(SCOPE).setInstrumentationVersion(version).build();
  }

  /**
   * Starts tracing, until closed.
   *
   * @param tally receives the counts of spans
   * @param policy name of the policy; may change
   * @param instance distinguishes this router from others with the same service name
   * @param version version of the program
   */
  public static Tracing start(
      TracingSettings settings,
      SpanTally tally,
      Supplier<String> policy,
      String instance,
      String version,
      Ticker ticker) {
    QUIET.setLevel(Level.OFF);
    return start(settings, exporter(settings), tally, policy, instance, version, ticker);
  }

  /** Starts tracing with the given exporter. */
  static Tracing start(
      TracingSettings settings,
      SpanExporter exporter,
      SpanTally tally,
      Supplier<String> policy,
      String instance,
      String version,
      Ticker ticker) {
    Resource resource =
        Resource.create(
            Attributes.builder()
                .put("service.name", settings.serviceName())
                .put("service.version", version)
                .put("service.instance.id", instance)
                .build());
    SpanQueue queue = new SpanQueue(exporter, tally, ticker, SpanQueue.CAPACITY, LONGEST_FLUSH);
    return new Tracing(settings, resource, queue, policy, version);
  }

  @Override
  public void use(TracingSettings next) {
    sampler.use(next.samplingRatio());
    excluded = Set.copyOf(next.excludedPaths());
  }

  private static SpanExporter exporter(TracingSettings settings) {
    return switch (settings.protocol()) {
      case GRPC ->
          OtlpGrpcSpanExporter.builder()
              .setEndpoint(settings.target())
              .setTimeout(EXPORT_TIMEOUT)
              .setConnectTimeout(CONNECT_TIMEOUT)
              .build();
      case HTTP ->
          OtlpHttpSpanExporter.builder()
              .setEndpoint(settings.target())
              .setTimeout(EXPORT_TIMEOUT)
              .setConnectTimeout(CONNECT_TIMEOUT)
              .build();
    };
  }

  @Override
  public @Nullable RequestTrace begin(
      Endpoint endpoint, String method, String uri, RequestHeaders headers) {
    int query = uri.indexOf('?');
    String path = query < 0 ? uri : uri.substring(0, query);
    if (excluded.contains(path)) {
      return null;
    }
    String known = METHODS.contains(method) ? method : "_OTHER";
    String route = route(endpoint, path);
    Context parent = Propagation.from(headers);
    SpanBuilder builder =
        tracer
            .spanBuilder(spanName(known, route))
            .setParent(parent)
            .setSpanKind(SpanKind.SERVER)
            .setAttribute(SpanKeys.METHOD, known)
            .setAttribute(SpanKeys.SCHEME, "http")
            .setAttribute(SpanKeys.PATH, path);
    if (!route.isEmpty()) {
      builder.setAttribute(SpanKeys.ROUTE, route);
    }
    Span request = builder.startSpan();
    return new TracedRequest(tracer, parent, request, known, path, policy.get());
  }

  /** The template of the path; empty for transparent paths, because their number is unlimited. */
  private static String route(Endpoint endpoint, String path) {
    return switch (endpoint) {
      case TRANSPARENT -> "";
      case RESPONSE_GET, RESPONSE_DELETE -> "/v1/responses/{response_id}";
      case RESPONSE_CANCEL -> "/v1/responses/{response_id}/cancel";
      case RESPONSE_INPUT_ITEMS -> "/v1/responses/{response_id}/input_items";
      case CHAT_COMPLETIONS,
          COMPLETIONS,
          RESPONSES,
          EMBEDDINGS,
          RERANK,
          SCORE,
          POOLING,
          CLASSIFY,
          GENERATE,
          TOKEN_GENERATE,
          TOKENIZE,
          DETOKENIZE,
          MESSAGES,
          MESSAGES_COUNT_TOKENS,
          AUDIO_TRANSCRIPTIONS,
          AUDIO_TRANSLATIONS,
          AUDIO_SPEECH,
          IMAGES_GENERATIONS,
          IMAGES_EDITS,
          IMAGES_VARIATIONS,
          REALTIME ->
          path; // one of the fixed paths of the route table
    };
  }

  static String spanName(String method, String route) {
    String verb = method.equals("_OTHER") ? "HTTP" : method;
    return route.isEmpty() ? verb : verb + " " + route;
  }

  @Override
  public void retire() {
    queue.retire();
  }

  @Override
  public boolean ended() {
    return queue.ended();
  }

  @Override
  public void close() {
    queue.close();
    provider.close();
  }
}

package io.pointsman.server.tracing;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.opentelemetry.proto.trace.v1.Span;
import io.opentelemetry.proto.trace.v1.Status;
import io.pointsman.config.ConfigValues;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.key.DisaggKeys;
import io.pointsman.config.key.FleetKeys;
import io.pointsman.config.key.FrontKeys;
import io.pointsman.config.key.OperationKeys;
import io.pointsman.config.key.RoutingKeys;
import io.pointsman.config.key.TracingKeys;
import io.pointsman.config.settings.TracingSettings;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.server.wiring.Router;
import io.pointsman.testkit.Await;
import io.pointsman.testkit.engine.EngineRequest;
import io.pointsman.testkit.engine.Faults;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Traces of a whole router, as seen by a collector and workers over sockets. */
@Timeout(120)
class TracedRouterTest {
  private static final String TRACE = "0af7651916cd43dd8448eb211c80319c";
  private static final String SPAN = "b7ad6b7169203331";
  private static final String SAMPLED = "00-" + TRACE + "-" + SPAN + "-01";
  private static final String NOT_SAMPLED = "00-" + TRACE + "-" + SPAN + "-00";
  private static final String CHAT = "/v1/chat/completions";
  private static final Pattern FAILED_SPANS =
      Pattern.compile("pointsman_trace_spans_total\\{result=\"failed\"\\} [1-9]");

  private final HttpClient http =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private final List<AutoCloseable> opened = new ArrayList<>();
  private Received received;
  private ConfigValues values;

  @BeforeEach
  void collect() throws IOException {
    HttpCollector collector = new HttpCollector();
    opened.add(collector);
    received = collector.received();
    values =
        new ConfigValues()
            .set(FrontKeys.PORT, 0)
            .set(OperationKeys.METRICS_PORT, 0)
            .set(FleetKeys.HEALTH_FIRST_RETRY, Duration.ofMillis(10))
            .set(FleetKeys.HEALTH_MOST_RETRY, Duration.ofMillis(50))
            .set(RoutingKeys.POLICY, "round_robin")
            .set(TracingKeys.ENABLED, true)
            .set(TracingKeys.PROTOCOL, TracingSettings.Protocol.HTTP)
            .set(TracingKeys.ENDPOINT, collector.url());
  }

  @AfterEach
  void closeAll() throws Exception {
    for (AutoCloseable each : opened.reversed()) {
      each.close();
    }
    http.shutdownNow();
  }

  private HeaderRecorder engine(int status) throws IOException {
    return opened(new HeaderRecorder(status));
  }

  private HeaderRecorder opened(HeaderRecorder engine) {
    opened.add(engine);
    return engine;
  }

  private Router router(HeaderRecorder... engines) {
    return router(Stream.of(engines).map(e -> WorkerSpec.of(e.url())).toList());
  }

  private Router router(List<WorkerSpec> workers) {
    values.set(RoutingKeys.WORKERS, workers);
    Router router = Router.start(PointsmanConfig.from(values), "1.2.3");
    opened.add(router);
    for (Worker worker : router.fleet().snapshot().workers()) {
      Await.until(
          worker + " is healthy, its models known",
          () -> worker.health().healthy() && !worker.models().isEmpty());
    }
    return router;
  }

  private HttpResponse<String> post(Router router, String path, String... headers)
      throws IOException, InterruptedException {
    String body = "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}";
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(router.url() + path))
            .POST(HttpRequest.BodyPublishers.ofString(body));
    if (headers.length > 0) {
      request.headers(headers);
    }
    return http.send(request.build(), HttpResponse.BodyHandlers.ofString());
  }

  @Test
  void theShareAndTheExcludedPathsChange() throws Exception {
    HeaderRecorder engine = engine(200);
    Router router = router(engine);
    assertThat(post(router, CHAT).statusCode()).isEqualTo(200);
    assertThat(sampled(traceparent(engine))).isTrue();
    PointsmanConfig before = PointsmanConfig.from(values);

    values.set(TracingKeys.SAMPLING_RATIO, 0.0);
    PointsmanConfig none = PointsmanConfig.from(values);
    router.change(before, none);
    assertThat(post(router, CHAT).statusCode()).isEqualTo(200);
    assertThat(sampled(traceparent(engine))).isFalse();

    values.set(TracingKeys.EXCLUDED_PATHS, List.of(CHAT));
    router.change(none, PointsmanConfig.from(values));
    assertThat(post(router, CHAT).statusCode()).isEqualTo(200);
    assertThat(engine.requests().getLast().get("traceparent")).isNull();
  }

  @Test
  void anotherCollectorTakesOverAndTheFirstGetsTheRequestsThatItBegan() throws Exception {
    Router router = router(engine(200));
    CountDownLatch ends = new CountDownLatch(1);
    ScriptedEngine slow =
        ScriptedEngine.start(
            new Faults.Healthy(
                "slow",
                (request, connection) -> {
                  ends.await();
                  Faults.Answer.ok().answer(request, connection);
                }));
    opened.add(slow);
    router.fleet().add(WorkerSpec.of(slow.url()));
    Await.until(
        "the slow engine",
        () ->
            router.fleet().snapshot().workers().stream()
                .anyMatch(each -> each.models().contains("slow") && each.health().healthy()));
    CompletableFuture<Integer> begun =
        CompletableFuture.supplyAsync(() -> slow(router), Thread::startVirtualThread);
    Await.until("it is sent", () -> slow.requests().stream().anyMatch(TracedRouterTest::isPost));
    PointsmanConfig before = PointsmanConfig.from(values);

    try (HttpCollector second = new HttpCollector();
        GrpcCollector third = new GrpcCollector()) {
      values.set(TracingKeys.ENDPOINT, second.url());
      PointsmanConfig other = PointsmanConfig.from(values);
      router.change(before, other);
      assertThat(post(router, CHAT).statusCode()).isEqualTo(200);
      second.received().await(2);
      assertThat(received.size()).isZero();
      ends.countDown();
      assertThat(begun.join()).isEqualTo(200);
      received.await(2);

      values.set(TracingKeys.PROTOCOL, TracingSettings.Protocol.GRPC);
      values.set(TracingKeys.ENDPOINT, third.url());
      values.set(TracingKeys.SERVICE_NAME, "renamed");
      PointsmanConfig byGrpc = PointsmanConfig.from(values);
      router.change(other, byGrpc);
      assertThat(post(router, CHAT).statusCode()).isEqualTo(200);
      third.received().await(2);
      assertThat(third.received().resource()).containsEntry("service.name", "renamed");

      values.set(TracingKeys.ENABLED, false);
      PointsmanConfig off = PointsmanConfig.from(values);
      router.change(byGrpc, off);
      assertThat(post(router, CHAT).statusCode()).isEqualTo(200);
      router.change(off, before);
      assertThat(post(router, CHAT).statusCode()).isEqualTo(200);
      received.await(4);
      assertThat(third.received().size()).isEqualTo(2);
      assertThat(second.received().size()).isEqualTo(2);
      Await.until(
          "the counts of all exporters",
          () ->
              scrape(requireNonNull(router.metricsUrl()))
                  .contains("pointsman_trace_spans_total{result=\"exported\"} 8"));
    }
  }

  private static boolean isPost(EngineRequest request) {
    return request.line().startsWith("POST ");
  }

  private int slow(Router router) {
    String body = "{\"model\":\"slow\",\"messages\":[]}";
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(router.url() + CHAT))
            .POST(HttpRequest.BodyPublishers.ofString(body))
            .build();
    try {
      return http.send(request, HttpResponse.BodyHandlers.ofString()).statusCode();
    } catch (IOException | InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private static String traceparent(HeaderRecorder engine) {
    List<String> all = requireNonNull(engine.requests().getLast().get("traceparent"));
    assertThat(all).hasSize(1);
    return all.getFirst();
  }

  /** The lowest bit of the flags; the next one marks a random id. */
  private static boolean sampled(String traceparent) {
    return (Integer.parseInt(traceparent.substring(53), 16) & 1) == 1;
  }

  @Test
  void aRequestMakesASpanAndBelowItOneForItsAttempt() throws Exception {
    HeaderRecorder engine = engine(200);
    post(router(engine), CHAT + "?key=secret", "x-request-id", "r-1");
    Span server = received.await(2, Span.SpanKind.SPAN_KIND_SERVER).getFirst();
    Span client = received.await(2, Span.SpanKind.SPAN_KIND_CLIENT).getFirst();
    assertThat(server.getName()).isEqualTo("POST " + CHAT);
    assertThat(server.getParentSpanId().isEmpty()).isTrue();
    Map<String, String> said = Received.attributes(server);
    assertThat(said)
        .containsEntry("http.request.method", "POST")
        .containsEntry("http.route", CHAT)
        .containsEntry("url.path", CHAT)
        .containsEntry("http.response.status_code", "200")
        .containsEntry("gen_ai.request.model", "m")
        .containsEntry("pointsman.request_id", "r-1")
        .containsEntry("pointsman.worker", engine.id())
        .containsEntry("pointsman.policy", "round_robin")
        .containsEntry("pointsman.attempts", "1")
        .containsEntry("pointsman.streamed", "false")
        .containsKey("pointsman.ttft_seconds")
        .doesNotContainKeys("error.type", "pointsman.blame");
    assertThat(said.toString()).doesNotContain("secret");
    assertThat(client.getName()).isEqualTo("POST");
    assertThat(client.getParentSpanId()).isEqualTo(server.getSpanId());
    assertThat(Received.attributes(client))
        .containsEntry("url.full", engine.url() + CHAT)
        .containsEntry("server.address", "127.0.0.1")
        .containsEntry("http.response.status_code", "200")
        .doesNotContainKeys("error.type", "http.request.resend_count");
    assertThat(traceparent(engine))
        .startsWith(
            "00-"
                + Received.hex(server.getTraceId())
                + "-"
                + Received.hex(client.getSpanId())
                + "-");
    assertThat(sampled(traceparent(engine))).isTrue();
    assertThat(received.resource())
        .containsEntry("service.name", "pointsman")
        .containsEntry("service.version", "1.2.3")
        .containsKey("service.instance.id");
  }

  @Test
  void aClientsTraceIsContinued() throws Exception {
    HeaderRecorder engine = engine(200);
    post(router(engine), CHAT, "traceparent", SAMPLED, "tracestate", "a=1,b=2", "baggage", "k=v");
    Span server = received.await(2, Span.SpanKind.SPAN_KIND_SERVER).getFirst();
    assertThat(Received.hex(server.getTraceId())).isEqualTo(TRACE);
    assertThat(Received.hex(server.getParentSpanId())).isEqualTo(SPAN);
    assertThat(traceparent(engine)).startsWith("00-" + TRACE + "-").endsWith("-01");
    assertThat(traceparent(engine)).doesNotContain(SPAN);
    assertThat(engine.requests().getLast().get("tracestate")).containsExactly("a=1,b=2");
    assertThat(engine.requests().getLast().get("baggage")).containsExactly("k=v");
  }

  @Test
  void anInvalidTraceparentStartsANewTrace() throws Exception {
    HeaderRecorder engine = engine(200);
    post(router(engine), CHAT, "traceparent", "00-xyz", "tracestate", "a=1");
    Span server = received.await(2, Span.SpanKind.SPAN_KIND_SERVER).getFirst();
    assertThat(server.getParentSpanId().isEmpty()).isTrue();
    assertThat(traceparent(engine)).contains(Received.hex(server.getTraceId()));
    assertThat(engine.requests().getLast().get("tracestate")).isNull();
  }

  @Test
  void eachAttemptHasASpan() throws Exception {
    HeaderRecorder broken = engine(500);
    HeaderRecorder good = engine(200);
    Router router = router(broken, good);
    int served = 0;
    while (broken.requests().isEmpty()) {
      assertThat(post(router, CHAT).statusCode()).isEqualTo(200);
      served++;
      assertThat(served).as("requests until it is the broken engine's turn").isLessThan(10);
    }
    List<Span> clients = received.await(2 * served + 1, Span.SpanKind.SPAN_KIND_CLIENT);
    Span failed = clients.get(served - 1);
    Span second = clients.get(served);
    assertThat(second.getParentSpanId()).isEqualTo(failed.getParentSpanId());
    assertThat(failed.getStatus().getCode()).isEqualTo(Status.StatusCode.STATUS_CODE_ERROR);
    assertThat(Received.attributes(failed))
        .containsEntry("error.type", "status")
        .containsEntry("http.response.status_code", "500")
        .containsEntry("pointsman.worker", broken.id());
    assertThat(Received.attributes(second))
        .containsEntry("http.request.resend_count", "1")
        .containsEntry("http.response.status_code", "200")
        .containsEntry("pointsman.worker", good.id());
    assertThat(traceparent(broken)).contains(Received.hex(failed.getSpanId()));
    assertThat(traceparent(good)).contains(Received.hex(second.getSpanId()));
  }

  private Router split(HeaderRecorder prefill, HeaderRecorder decode) {
    return split("transparent", prefill, decode);
  }

  private Router split(String protocol, HeaderRecorder prefill, HeaderRecorder decode) {
    values.set(DisaggKeys.PROTOCOL, protocol);
    return router(
        List.of(
            WorkerSpec.of(prefill.url()).withRole(Role.PREFILL),
            WorkerSpec.of(decode.url()).withRole(Role.DECODE)));
  }

  @Test
  void aPrefillHasASpanBesideThatOfItsDecode() throws Exception {
    HeaderRecorder prefill = engine(200);
    HeaderRecorder decode = engine(200);
    assertThat(post(split(prefill, decode), CHAT).statusCode()).isEqualTo(200);
    Span server = received.await(3, Span.SpanKind.SPAN_KIND_SERVER).getFirst();
    List<Span> clients = received.await(3, Span.SpanKind.SPAN_KIND_CLIENT);
    Span first = of(prefill, clients);
    Span second = of(decode, clients);
    assertThat(first.getParentSpanId()).isEqualTo(server.getSpanId());
    assertThat(second.getParentSpanId()).isEqualTo(server.getSpanId());
    assertThat(Received.attributes(first))
        .containsEntry("pointsman.purpose", "prefill")
        .containsEntry("http.response.status_code", "200")
        .containsEntry("url.full", prefill.url() + CHAT)
        .doesNotContainKeys("error.type", "http.request.resend_count");
    assertThat(Received.attributes(second))
        .containsEntry("http.response.status_code", "200")
        .doesNotContainKeys("pointsman.purpose", "http.request.resend_count");
    assertThat(first.getEndTimeUnixNano()).isLessThanOrEqualTo(second.getStartTimeUnixNano());
    assertThat(traceparent(prefill)).contains(Received.hex(first.getSpanId()));
    assertThat(traceparent(decode)).contains(Received.hex(second.getSpanId()));
  }

  @Test
  void aFailedPrefillsSpanHasTheReason() throws Exception {
    HeaderRecorder prefill = engine(500);
    HeaderRecorder decode = engine(200);
    assertThat(post(split(prefill, decode), CHAT).statusCode()).isEqualTo(200);
    Span failed = of(prefill, received.await(3, Span.SpanKind.SPAN_KIND_CLIENT));
    assertThat(failed.getStatus().getCode()).isEqualTo(Status.StatusCode.STATUS_CODE_ERROR);
    assertThat(Received.attributes(failed))
        .containsEntry("pointsman.purpose", "prefill")
        .containsEntry("http.response.status_code", "500")
        .containsEntry("error.type", "500");
  }

  /** Decode fails, and a second decode request releases the blocks of prefill. */
  @Test
  void aDecodeThatOnlyReleasesBlocksHasItsPurpose() throws Exception {
    HeaderRecorder prefill =
        engine(200).saying("{\"kv_transfer_params\":{\"remote_block_ids\":[1]}}");
    HeaderRecorder decode = opened(new HeaderRecorder(List.of(500, 200), new CountDownLatch(0)));
    values.set(DisaggKeys.DECODE_CAN_PREFILL, false);
    assertThat(post(split("nixl", prefill, decode), CHAT).statusCode()).isEqualTo(500);
    Span server = received.await(4, Span.SpanKind.SPAN_KIND_SERVER).getFirst();
    Span frees = received.await(4, Span.SpanKind.SPAN_KIND_CLIENT).getLast();
    assertThat(frees.getParentSpanId()).isEqualTo(server.getSpanId());
    assertThat(Received.attributes(frees))
        .containsEntry("pointsman.purpose", "release")
        .containsEntry("pointsman.worker", decode.id())
        .containsEntry("http.response.status_code", "200")
        .doesNotContainKeys("error.type", "http.request.resend_count");
    assertThat(traceparent(decode)).contains(Received.hex(frees.getSpanId()));
  }

  @Test
  void aPrefillIsAbortedWhenTheClientLeaves() throws Exception {
    CountDownLatch never = new CountDownLatch(1);
    opened.add(never::countDown);
    HeaderRecorder prefill = opened(new HeaderRecorder(List.of(200), never));
    Router router = split(prefill, engine(200));
    String body = "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}";
    String head = "POST " + CHAT + " HTTP/1.1\r\nhost: r\r\ncontent-type: application/json\r\n";
    try (Socket client =
        new Socket(InetAddress.getLoopbackAddress(), URI.create(router.url()).getPort())) {
      String request = head + "content-length: " + body.length() + "\r\n\r\n" + body;
      client.getOutputStream().write(request.getBytes(StandardCharsets.UTF_8));
      Await.until("prefill is asked", () -> prefill.requests().size() == 1);
    }
    Span aborted = of(prefill, received.await(2, Span.SpanKind.SPAN_KIND_CLIENT));
    assertThat(Received.attributes(aborted))
        .containsEntry("pointsman.purpose", "prefill")
        .containsEntry("error.type", "aborted")
        .doesNotContainKey("http.response.status_code");
  }

  /** Each prefill fails while the concurrent decode waits for it. */
  @Test
  void aWithdrawnDecodeEndsItsSpan() throws Exception {
    CountDownLatch never = new CountDownLatch(1);
    opened.add(never::countDown);
    HeaderRecorder decode = opened(new HeaderRecorder(List.of(200), never));
    values.set(DisaggKeys.PROTOCOL, "sglang");
    Router router =
        router(
            List.of(
                WorkerSpec.of(engine(500).url()).withRole(Role.PREFILL),
                WorkerSpec.of(engine(500).url()).withRole(Role.PREFILL),
                WorkerSpec.of(decode.url()).withRole(Role.DECODE)));
    assertThat(post(router, CHAT).statusCode()).isEqualTo(500);
    List<Span> spans = received.await(5);
    Span server =
        spans.stream()
            .filter(each -> each.getKind() == Span.SpanKind.SPAN_KIND_SERVER)
            .findFirst()
            .orElseThrow();
    assertThat(Received.attributes(server)).containsEntry("pointsman.attempts", "2");
    assertThat(spans)
        .filteredOn(each -> decode.id().equals(Received.attributes(each).get("pointsman.worker")))
        .filteredOn(each -> each.getKind() == Span.SpanKind.SPAN_KIND_CLIENT)
        .hasSize(2)
        .allSatisfy(
            each -> {
              assertThat(Received.attributes(each)).containsEntry("error.type", "aborted");
              assertThat(each.getStatus().getCode()).isEqualTo(Status.StatusCode.STATUS_CODE_UNSET);
            });
  }

  private static Span of(HeaderRecorder engine, List<Span> spans) {
    return spans.stream()
        .filter(span -> engine.id().equals(Received.attributes(span).get("pointsman.worker")))
        .findFirst()
        .orElseThrow();
  }

  @Test
  void aFailureHasItsBlame() throws Exception {
    Router router = router(engine(500));
    assertThat(post(router, CHAT).statusCode()).isEqualTo(500);
    Span server = received.await(2, Span.SpanKind.SPAN_KIND_SERVER).getFirst();
    assertThat(server.getStatus().getCode()).isEqualTo(Status.StatusCode.STATUS_CODE_ERROR);
    assertThat(Received.attributes(server))
        .containsEntry("error.type", "500")
        .containsEntry("pointsman.blame", "upstream");
  }

  @Test
  void aClientErrorIsNoErrorOfTheRouter() throws Exception {
    Router router = router(engine(400));
    assertThat(post(router, CHAT).statusCode()).isEqualTo(400);
    Span server = received.await(2, Span.SpanKind.SPAN_KIND_SERVER).getFirst();
    assertThat(server.getStatus().getCode()).isEqualTo(Status.StatusCode.STATUS_CODE_UNSET);
    assertThat(Received.attributes(server))
        .containsEntry("pointsman.blame", "client")
        .doesNotContainKey("error.type");
    Span client = received.await(2, Span.SpanKind.SPAN_KIND_CLIENT).getFirst();
    assertThat(Received.attributes(client)).containsEntry("error.type", "400");
  }

  @Test
  void aRatioOfZeroExportsOnlyClientTraces() throws Exception {
    values.set(TracingKeys.SAMPLING_RATIO, 0.0);
    HeaderRecorder engine = engine(200);
    Router router = router(engine);
    post(router, CHAT);
    assertThat(sampled(traceparent(engine))).isFalse();
    post(router, CHAT, "traceparent", NOT_SAMPLED);
    assertThat(traceparent(engine)).startsWith("00-" + TRACE).endsWith("-00");
    post(router, CHAT, "traceparent", SAMPLED);
    assertThat(traceparent(engine)).startsWith("00-" + TRACE).endsWith("-01");
    router.close();
    assertThat(received.size()).isEqualTo(2);
    assertThat(received.await(2)).allMatch(span -> Received.hex(span.getTraceId()).equals(TRACE));
  }

  @Test
  void aClientsDecisionNotToSampleIsFollowed() throws Exception {
    Router router = router(engine(200));
    post(router, CHAT, "traceparent", NOT_SAMPLED);
    router.close();
    assertThat(received.size()).isZero();
  }

  @Test
  void excludedPathsAreNotTracedAndKeepTheirHeaders() throws Exception {
    values.set(TracingKeys.EXCLUDED_PATHS, List.of("/quiet"));
    HeaderRecorder engine = engine(200);
    Router router = router(engine);
    post(router, "/quiet?q=1", "traceparent", SAMPLED);
    assertThat(traceparent(engine)).isEqualTo(SAMPLED);
    post(router, "/quiet/not", "traceparent", SAMPLED);
    assertThat(traceparent(engine)).isNotEqualTo(SAMPLED);
    router.close();
    Span server = received.await(2, Span.SpanKind.SPAN_KIND_SERVER).getFirst();
    assertThat(received.size()).isEqualTo(2);
    assertThat(server.getName()).isEqualTo("POST");
    assertThat(Received.attributes(server))
        .containsEntry("url.path", "/quiet/not")
        .doesNotContainKey("http.route");
  }

  @Test
  void withoutTracingHeadersAreForwardedUnchanged() throws Exception {
    values.set(TracingKeys.ENABLED, false);
    HeaderRecorder engine = engine(200);
    Router router = router(engine);
    post(router, CHAT, "traceparent", "not even one", "tracestate", "a=1");
    assertThat(traceparent(engine)).isEqualTo("not even one");
    assertThat(engine.requests().getLast().get("tracestate")).containsExactly("a=1");
    post(router, CHAT);
    assertThat(engine.requests().getLast().get("traceparent")).isNull();
  }

  @Test
  @Tag("full")
  void anUnreachableCollectorLosesOnlySpans() throws Exception {
    try (HttpCollector gone = new HttpCollector()) {
      values.set(TracingKeys.ENDPOINT, gone.url());
    }
    Router router = router(engine(200));
    for (int i = 0; i < 20; i++) {
      assertThat(post(router, CHAT).statusCode()).isEqualTo(200);
    }
    String metrics = requireNonNull(router.metricsUrl());
    Await.until("spans are counted as failed", () -> FAILED_SPANS.matcher(scrape(metrics)).find());
    assertThat(scrape(metrics)).contains("pointsman_trace_spans_total{result=\"exported\"} 0");
    router.close();
  }

  private String scrape(String url) {
    HttpRequest request = HttpRequest.newBuilder(URI.create(url)).build();
    return http.sendAsync(request, HttpResponse.BodyHandlers.ofString()).join().body();
  }

  @Test
  void spansAreExportedOverGrpcToo() throws Exception {
    try (GrpcCollector collector = new GrpcCollector()) {
      values.set(TracingKeys.PROTOCOL, TracingSettings.Protocol.GRPC);
      values.set(TracingKeys.ENDPOINT, collector.url());
      post(router(engine(200)), CHAT);
      assertThat(collector.received().await(2, Span.SpanKind.SPAN_KIND_SERVER)).hasSize(1);
      assertThat(collector.paths())
          .containsOnly("/opentelemetry.proto.collector.trace.v1.TraceService/Export");
    }
  }
}

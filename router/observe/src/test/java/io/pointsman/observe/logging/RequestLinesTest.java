package io.pointsman.observe.logging;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.InstanceOfAssertFactories.STRING;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pointsman.config.settings.LogSettings;
import io.pointsman.config.settings.LogSettings.Access;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Usage;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.engine.policy.AffinityKey;
import io.pointsman.proxy.identity.ClientIdentity;
import io.pointsman.proxy.telemetry.Blame;
import io.pointsman.proxy.telemetry.ClientRequest;
import io.pointsman.proxy.telemetry.ProxyListener;
import io.pointsman.proxy.telemetry.RequestEvent.PromptPrefilled;
import io.pointsman.proxy.telemetry.RequestEvent.RequestEnded;
import io.pointsman.proxy.telemetry.RequestEvent.RouterAnswered;
import io.pointsman.proxy.telemetry.RequestEvent.WorkerChosen;
import io.pointsman.proxy.telemetry.RequestReport;
import io.pointsman.proxy.telemetry.RequestReport.ReportedResult;
import io.pointsman.proxy.telemetry.RequestReport.ReportedTimes;
import io.pointsman.proxy.telemetry.RequestReport.ReportedTraffic;
import io.pointsman.request.Endpoint;
import io.pointsman.testkit.Await;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.ResourceLock;

class RequestLinesTest {
  private static final ClientIdentity ALICE =
      new ClientIdentity(ClientIdentity.Kind.KEY, "alice", Set.of());

  /** The patterns of the production stack's end-to-end script. */
  private static final Pattern LINE = Pattern.compile("Routing request.*to.*at.*process time");

  private static final Pattern PARTS =
      Pattern.compile("Routing request ([^ ]*) with session id [^ ]* to ([^ ]*) at ");

  private static final InstantSource CLOCK =
      InstantSource.fixed(Instant.ofEpochSecond(1_700_000_000, 250_001_000));

  private static LogSettings settings(boolean requests, Access access, double sample) {
    return new LogSettings(
        LogSettings.Level.INFO, LogSettings.Format.TEXT, "", requests, access, sample, true);
  }

  private final Worker worker =
      new Fleet(FleetSettings.DEFAULTS, () -> 0).add(WorkerSpec.of("http://a:1"));
  private final List<String> lines = new ArrayList<>();
  private final RequestLines listener =
      new RequestLines(
          ProxyListener.NONE, CLOCK, settings(true, Access.OFF, 1), lines::add, (_, _, _) -> {});

  private static ClientRequest request(String id) {
    return request(id, "POST", "/v1/chat/completions", false);
  }

  private static ClientRequest request(String id, String method, String uri, boolean admin) {
    return new ClientRequest(Endpoint.CHAT_COMPLETIONS, method, uri, id, ALICE, "10.1.2.3", admin);
  }

  private static AffinityKey session(String id) {
    return new AffinityKey(AffinityKey.Kind.SESSION, "header:x-user-id", id);
  }

  @Test
  void theLineHasTheFormOfTheStack() {
    listener.on(new WorkerChosen(request("r-1"), session("u7"), worker, 1_250_000));
    assertThat(lines)
        .containsExactly(
            "Routing request r-1 with session id u7 to http://a:1 at 1700000000.250001, process"
                + " time = 0.0013");
    assertThat(LINE.matcher(lines.getFirst()).find()).isTrue();
    Matcher parts = PARTS.matcher(lines.getFirst());
    assertThat(parts.find()).isTrue();
    assertThat(parts.group(1)).isEqualTo("r-1");
    assertThat(parts.group(2)).isEqualTo("http://a:1");
  }

  @Test
  void aHandOverHasTheLinesOfTheStack() {
    Fleet fleet = new Fleet(FleetSettings.DEFAULTS, () -> 0);
    Worker prefill = fleet.add(WorkerSpec.of("http://p:1").withRole(Role.PREFILL));
    Worker decode = fleet.add(WorkerSpec.of("http://d:1").withRole(Role.DECODE));
    listener.on(new WorkerChosen(request("r-1"), null, prefill, 0));
    listener.on(new PromptPrefilled(request("r-1"), 123_400_000));
    listener.on(new WorkerChosen(request("r-1"), null, decode, 0));
    listener.on(ended(decode, 200, false));
    listener.on(ended(decode, 200, true));
    listener.on(ended(decode, 502, false));
    listener.on(ended(worker, 200, false));
    assertThat(lines)
        .filteredOn(line -> !LINE.matcher(line).find())
        .containsExactly(
            "[r-1] Prefill endpoint: http://p:1",
            "[r-1] Prefill completed in 0.1234s (TTFT)",
            "[r-1] Decode endpoint: http://d:1",
            "[r-1] Orchestrated request completed, total time = 0.5678s",
            "[r-1] Orchestrated streaming request completed, total time = 0.5678s");
    assertThat(lines).filteredOn(line -> LINE.matcher(line).find()).hasSize(2);
  }

  private static RequestEnded ended(Worker worker, int status, boolean streamed) {
    return new RequestEnded(
        new RequestReport(
            request("r-1"),
            null,
            worker,
            1,
            new ReportedResult(status, Blame.NONE, null, streamed, false),
            new ReportedTimes(RequestReport.NEVER, RequestReport.NEVER, 567_800_000),
            new ReportedTraffic(0, 0, 0, Usage.UNKNOWN)));
  }

  @Test
  void aRequestWithoutASessionHasNone() {
    listener.on(new WorkerChosen(request("r"), null, worker, 0));
    assertThat(lines.getFirst()).contains("session id None to");
  }

  @Test
  void aClientCannotWriteALineOfItsOwn() {
    listener.on(new WorkerChosen(request("r"), session("a b\nRouting request x"), worker, 0));
    assertThat(lines.getFirst())
        .contains("session id a_b_Routing_request_x to")
        .doesNotContain("\n");
    listener.on(new WorkerChosen(request("r"), session("y".repeat(10_000)), worker, 0));
    assertThat(lines.getLast().length()).isLessThan(500);
  }

  /** A report with these values, about a request without a worker. */
  private static RequestReport report(String method, String uri, int status, String reason) {
    return report(method, uri, status, reason, false);
  }

  private static RequestReport report(
      String method, String uri, int status, String reason, boolean admin) {
    return new RequestReport(
        request("r-1", method, uri, admin),
        "m\nx",
        null,
        1,
        new ReportedResult(status, Blame.NONE, reason.isEmpty() ? null : reason, false, false),
        new ReportedTimes(RequestReport.NEVER, RequestReport.NEVER, 12_340_000),
        new ReportedTraffic(-1, -1, -1, new Usage(7, -1, 3)));
  }

  private static List<String> written(Access access, double sample, RequestReport... reports) {
    List<String> written = new ArrayList<>();
    RequestLines listener =
        new RequestLines(
            ProxyListener.NONE,
            CLOCK,
            settings(false, access, sample),
            written::add,
            (message, _, values) -> written.add(message + values));
    for (RequestReport each : reports) {
      listener.on(new RouterAnswered(each));
    }
    return written;
  }

  @Test
  void aRequestLeavesOneLineWithItsValues() {
    assertThat(written(Access.ALL, 1, report("GET", "/v1/x?key=secret", 404, "none")))
        .containsExactly(
            "request client=10.1.2.3 identity=alice method=GET path=/v1/x status=404"
                + " model=m\\u000ax reason=none bytes_in=-1 bytes_out=-1 prompt_tokens=7"
                + " completion_tokens=3 total_ms=12.3 request=r-1");
  }

  /** From the report to the bytes of the log. */
  @Test
  @ResourceLock("log")
  void aLineHasTheSameValuesInBothFormats() throws Exception {
    RequestReport report = report("GET", "/v1/a b\"c", 404, "none");
    String start = "RequestLines: request client=10.1.2.3 identity=alice method=GET ";
    assertThat(logged(LogSettings.Format.TEXT, report))
        .contains(start + "path=\"/v1/a b\\\"c\" status=404 model=m\\u000ax reason=none")
        .endsWith(" total_ms=12.3 request=r-1\n");
    JsonNode json = new ObjectMapper().readTree(logged(LogSettings.Format.JSON, report));
    assertThat(json.path("message").asText()).isEqualTo("request");
    assertThat(json.path("thread").asText()).isEqualTo(Thread.currentThread().getName());
    assertThat(json.path("path").asText()).isEqualTo("/v1/a b\"c");
    assertThat(json.path("model").asText()).isEqualTo("m\\u000ax");
    assertThat(json.path("status").isInt()).isTrue();
    assertThat(json.path("total_ms").asDouble()).isEqualTo(12.3);
  }

  private static LogSettings all(LogSettings.Format format) {
    return new LogSettings(LogSettings.Level.INFO, format, "", false, Access.ALL, 1, false);
  }

  private static String logged(LogSettings.Format format, RequestReport report) {
    LogSettings all = all(format);
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    try (LogSetup _ = LogSetup.start(all, out)) {
      RequestLines.around(ProxyListener.NONE, CLOCK, all).on(new RequestEnded(report));
    }
    return out.toString(StandardCharsets.UTF_8);
  }

  @Test
  @ResourceLock("log")
  void linesStayCompleteWhenTheFormatChanges() throws Exception {
    LogSettings text = all(LogSettings.Format.TEXT);
    LogSettings json = all(LogSettings.Format.JSON);
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    try (LogSetup setup = LogSetup.start(text, out)) {
      RequestLines written = RequestLines.around(ProxyListener.NONE, CLOCK, text);
      RequestEnded event = new RequestEnded(report("GET", "/v1/a b", 200, ""));
      written.on(event);
      awaitLines(out, 1);
      written.use(json);
      written.on(event);
      awaitLines(out, 2);
      setup.prepared(json).apply();
      written.on(event);
      awaitLines(out, 3);
      written.use(text);
      written.on(event);
      awaitLines(out, 4);
      setup.prepared(text).apply();
      written.on(event);
    }
    List<String> all = out.toString(StandardCharsets.UTF_8).lines().toList();
    assertThat(all).hasSize(5);
    for (int number : List.of(0, 4)) {
      assertThat(all.get(number)).contains(": request client=").contains(" path=\"/v1/a b\"");
    }
    String queued = all.get(1);
    assertThat(queued).contains(": request {\"client\":");
    JsonNode values = new ObjectMapper().readTree(queued.substring(queued.indexOf('{')));
    assertThat(values.path("path").asText()).isEqualTo("/v1/a b");
    JsonNode line = new ObjectMapper().readTree(all.get(2));
    assertThat(line.path("message").asText()).isEqualTo("request");
    assertThat(line.path("path").asText()).isEqualTo("/v1/a b");
    JsonNode other = new ObjectMapper().readTree(all.get(3));
    assertThat(other.path("values").asText()).startsWith("client=").contains(" path=\"/v1/a b\"");
  }

  private static void awaitLines(ByteArrayOutputStream out, int count) {
    Await.until(
        count + " lines", () -> out.toString(StandardCharsets.UTF_8).lines().count() == count);
  }

  @Test
  void linesFollowAChangeOfTheSettings() {
    List<String> written = new ArrayList<>();
    RequestLines changed =
        new RequestLines(
            ProxyListener.NONE,
            CLOCK,
            settings(false, Access.OFF, 1),
            written::add,
            (message, _, _) -> written.add(message));
    changed.on(new RouterAnswered(report("GET", "/health", 200, "")));
    assertThat(written).isEmpty();
    assertThat(changed.readsUsage()).isFalse();

    changed.use(settings(true, Access.ALL, 1));

    changed.on(new RouterAnswered(report("GET", "/health", 200, "")));
    assertThat(changed.readsUsage()).isTrue();
    changed.on(new WorkerChosen(request("r-1"), session("u7"), worker, 1_250_000));
    assertThat(written).hasSize(2);
  }

  @Test
  void onlyErrorsLeaveALineIfThatIsConfigured() {
    RequestReport good = report("GET", "/health", 200, "");
    RequestReport bad = report("GET", "/health", 503, "");
    assertThat(written(Access.ERRORS, 1, good, bad, good)).hasSize(1);
    assertThat(written(Access.OFF, 1, good, bad, good)).isEmpty();
    assertThat(written(Access.ALL, 1, good, bad, good)).hasSize(3);
  }

  @Test
  void aShareOfTheGoodRequestsLeavesALine() {
    RequestReport[] reports = new RequestReport[101];
    Arrays.fill(reports, report("GET", "/health", 200, ""));
    reports[50] = report("GET", "/health", 500, "");
    assertThat(written(Access.ALL, 0.25, reports)).hasSize(26);
  }

  @Test
  void changesAndRefusedKeysAreAudited() {
    assertThat(written(Access.OFF, 1, report("POST", "/add_worker?url=x", 200, "")).getFirst())
        .startsWith("audit client=10.1.2.3 identity=alice method=POST path=/add_worker status=");
    assertThat(written(Access.OFF, 1, report("GET", "/v1/models", 401, "invalid_api_key")))
        .hasSize(1);
    assertThat(
            written(
                Access.OFF,
                1,
                report("POST", "/v1/decide", 200, ""),
                report("POST", "/v1/leases/a/settle", 200, ""),
                report("GET", "/workers", 200, ""),
                report("POST", "/x", 400, "malformed_request")))
        .isEmpty();
  }

  @Test
  void refusedKeysCannotFillTheLog() {
    RequestReport[] reports = new RequestReport[1000];
    Arrays.fill(reports, report("GET", "/v1/models", 401, "invalid_api_key"));
    assertThat(written(Access.OFF, 1, reports)).hasSize(20);
  }

  @Test
  void floodsOfRefusalsAndOfClientsHideNoChangeOfAnAdministrator() {
    RequestReport[] reports = new RequestReport[201];
    Arrays.fill(reports, 0, 100, report("GET", "/v1/models", 401, "invalid_api_key", true));
    Arrays.fill(reports, 100, 200, report("POST", "/v1/files", 200, ""));
    reports[200] = report("POST", "/add_worker", 200, "", true);

    assertThat(written(Access.OFF, 1, reports))
        .hasSize(41)
        .last(STRING)
        .contains(" path=/add_worker ", " listener=admin");
  }

  @Test
  void theNextLineCountsThoseThatWereNotWritten() {
    LineRate rate = new LineRate(20);
    for (int i = 0; i < 25; i++) {
      assertThat(rate.take(7)).isEqualTo(i < 20 ? 0 : -1);
    }
    assertThat(rate.take(8)).isEqualTo(5);
    assertThat(rate.take(8)).isZero();
  }
}

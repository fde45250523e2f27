package io.pointsman.observe.logging;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.engine.policy.AffinityKey;
import io.pointsman.proxy.telemetry.ProxyListener;
import io.pointsman.proxy.telemetry.RequestReport;
import java.lang.reflect.Proxy;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

class RequestLinesTest {
  /** The patterns of the production stack's end-to-end script. */
  private static final Pattern LINE = Pattern.compile("Routing request.*to.*at.*process time");

  private static final Pattern PARTS =
      Pattern.compile("Routing request ([^ ]*) with session id [^ ]* to ([^ ]*) at ");

  private final Worker worker =
      new Fleet(FleetSettings.DEFAULTS, () -> 0).add(WorkerSpec.of("http://a:1"));
  private final List<String> lines = new ArrayList<>();
  private final RequestLines listener =
      new RequestLines(
          ProxyListener.NONE,
          InstantSource.fixed(Instant.ofEpochSecond(1_700_000_000, 250_001_000)),
          lines::add);

  private static RequestReport report(String id) {
    return (RequestReport)
        Proxy.newProxyInstance(
            RequestLinesTest.class.getClassLoader(),
            new Class<?>[] {RequestReport.class},
            (_, method, _) -> {
              assertThat(method.getName()).isEqualTo("requestId");
              return id;
            });
  }

  private static AffinityKey session(String id) {
    return new AffinityKey(AffinityKey.Kind.SESSION, "header:x-user-id", id);
  }

  @Test
  void theLineHasTheFormOfTheStack() {
    listener.chosen(report("r-1"), session("u7"), worker, 1_250_000);
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
    listener.chosen(report("r-1"), null, prefill, 0);
    listener.prefilled(report("r-1"), 123_400_000);
    listener.chosen(report("r-1"), null, decode, 0);
    listener.ended(ended(decode, 200, false));
    listener.ended(ended(decode, 200, true));
    listener.ended(ended(decode, 502, false));
    listener.ended(ended(worker, 200, false));
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

  private static RequestReport ended(Worker worker, int status, boolean streamed) {
    return (RequestReport)
        Proxy.newProxyInstance(
            RequestLinesTest.class.getClassLoader(),
            new Class<?>[] {RequestReport.class},
            (_, method, _) ->
                switch (method.getName()) {
                  case "requestId" -> "r-1";
                  case "worker" -> worker;
                  case "status" -> status;
                  case "streamed" -> streamed;
                  case "nanosToEnd" -> 567_800_000L;
                  default -> throw new AssertionError(method);
                });
  }

  @Test
  void aRequestWithoutASessionHasNone() {
    listener.chosen(report("r"), null, worker, 0);
    assertThat(lines.getFirst()).contains("session id None to");
  }

  @Test
  void aClientCannotWriteALineOfItsOwn() {
    listener.chosen(report("r"), session("a b\nRouting request x"), worker, 0);
    assertThat(lines.getFirst())
        .contains("session id a_b_Routing_request_x to")
        .doesNotContain("\n");
    listener.chosen(report("r"), session("y".repeat(10_000)), worker, 0);
    assertThat(lines.getLast().length()).isLessThan(500);
  }
}

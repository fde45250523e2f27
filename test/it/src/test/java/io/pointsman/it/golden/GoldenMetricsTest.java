package io.pointsman.it.golden;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.channel.EventLoopGroup;
import io.pointsman.engine.fleet.Role;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.RunningRouter;
import io.pointsman.it.support.WaitFor;
import io.pointsman.testkit.engine.Faults;
import io.pointsman.testkit.engine.ScriptedEngine;
import io.pointsman.tool.sim.SimConfig;
import io.pointsman.tool.sim.SimEngine;
import io.pointsman.tool.sim.failure.Fault;
import io.pointsman.tool.sim.failure.ScheduledFault;
import io.pointsman.tool.sim.kv.KvConnector;
import io.pointsman.tool.sim.kv.KvOptions;
import io.pointsman.tool.sim.kv.KvRole;
import io.pointsman.tool.sim.zmq.EventFormat;
import io.pointsman.tool.sim.zmq.EventOptions;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Names, types and labels of all metrics, as documented and as scraped. */
@Timeout(180)
final class GoldenMetricsTest {
  private static final Path PAGE =
      Path.of(System.getProperty("pointsman.root", ".."), "docs", "reference", "metrics.md");
  private static final Pattern ROW =
      Pattern.compile(
          "\\| `(?<name>[a-z_:]+)` \\| (?<type>[a-z]+) \\| (?<labels>[a-z_`, ]*) \\|.*");

  /** Turns on every feature that has metrics. */
  private static final String SETTINGS =
      """
      listen: {port: 0}
      metrics: {port: 0, vllm-router-names: true, like-production-stack: true}
      log: {level: error}
      policy: cost
      shadow-policy: kv_aware
      session-affinity: soft
      kv-events: {mode: auto}
      disaggregation: {protocol: nixl, cached-share: 2}
      tracing: {enabled: true, endpoint: "COLLECTOR", protocol: http}
      capture: {file: "CAPTURE"}
      limits: {max-concurrent-requests: 64}
      workers:
      """;

  private static final String CHAT = "/v1/chat/completions";
  private static final Pattern LEASE = Pattern.compile("\"lease\":\"([^\"]+)\"");

  @TempDir private Path folder;

  /** The page is generated from the lists in the code. */
  @Test
  void metricsThatAreListed() throws IOException {
    StringBuilder text = new StringBuilder();
    for (String line : Files.readAllLines(PAGE)) {
      Matcher row = ROW.matcher(line);
      if (row.matches()) {
        text.append(row.group("name")).append(' ').append(row.group("type")).append(" {");
        text.append(row.group("labels").replaceAll("[` ]", "")).append("}\n");
      }
    }
    GoldenFile.compare("metrics-listed.txt", text.toString());
  }

  @Test
  void metricsThatAreScrapedWhenEverythingIsOn() throws IOException {
    SimConfig config = SimConfig.instant().withModels("sim").withScaleOut(true);
    EventLoopGroup loops = SimEngine.newGroup(2);
    try (SimEngine whole =
            SimEngine.start(config.withId("whole").withEvents(EventOptions.of(EventFormat.VLLM)));
        SimEngine prefill = part(config, KvRole.PREFILL, loops);
        SimEngine decode = part(config, KvRole.DECODE, loops);
        ScriptedEngine collector = ScriptedEngine.start(Faults.Answer.ok());
        RunningRouter router =
            RunningRouter.start(
                SETTINGS
                        .replace("COLLECTOR", collector.url())
                        .replace("CAPTURE", folder.resolve("trace.jsonl").toString())
                    + worker(whole, "regular")
                    + worker(prefill, "prefill")
                    + worker(decode, "decode"))) {
      awaitWell(router);
      serve(router, whole);
      // Engines announce their blocks after the answer.
      WaitFor.until(
          "an engine's announcement",
          WaitFor.LONG,
          () -> router.scrape().contains("pointsman_kv_event_lag_seconds{"));
      MetricFamilies families = new MetricFamilies();
      families.add(router.scrape());
      GoldenFile.compare("metrics-scraped.txt", families.text());
    } finally {
      loops.shutdownGracefully(0, 1, TimeUnit.SECONDS);
    }
  }

  private static SimEngine part(SimConfig config, KvRole role, EventLoopGroup loops) {
    KvOptions options = KvOptions.of(role, KvConnector.NIXL).withDirect(true);
    return SimEngine.start(config.withId(role.name()).withKv(options), loops);
  }

  private static String worker(SimEngine engine, String role) {
    return "  - {url: \"%s\", role: %s}\n".formatted(engine.url(), role);
  }

  private static void awaitWell(RunningRouter router) {
    WaitFor.until(
        () -> "all workers are well: " + router.workers(),
        WaitFor.LONG,
        () ->
            router.serving(Role.REGULAR, "sim") == 1
                && router.serving(Role.PREFILL, "sim") == 1
                && router.serving(Role.DECODE, "sim") == 1
                && router.allHealthy());
  }

  /** Sends the requests that give each metric a value. */
  private static void serve(RunningRouter router, SimEngine whole) throws IOException {
    int port = router.port();
    String chat = "\"messages\":[{\"role\":\"user\",\"content\":\"hello\"}],\"max_tokens\":5";
    for (String more : List.of("", ",\"stream\":true", ",\"n\":2,\"stream\":true")) {
      for (int turn = 0; turn < 2; turn++) {
        assertThat(ask(port, CHAT, "{\"model\":\"sim\"," + chat + more + "}").status())
            .isEqualTo(200);
      }
    }
    assertThat(ask(port, CHAT, "{\"model\":\"nobody's\"," + chat + "}").status()).isEqualTo(404);
    assertThat(ask(port, "/v1/embeddings", "{\"model\":\"sim\",\"input\":\"x\"}").status())
        .isEqualTo(200);
    whole.failures().add(ScheduledFault.times(1, new Fault.Status(503, 0)).on("/v1/embeddings"));
    ask(port, "/v1/embeddings", "{\"model\":\"sim\",\"input\":\"y\"}");
    decideAndSettle(port);
  }

  private static void decideAndSettle(int port) throws IOException {
    String question = "{\"path\":\"/v1/embeddings\",\"body\":{\"model\":\"sim\",\"input\":\"z\"}}";
    HttpAnswer decided = ask(port, "/v1/decide", question);
    Matcher lease = LEASE.matcher(decided.text());
    assertThat(lease.find()).as(decided.text()).isTrue();
    String end = "{\"outcome\":\"succeeded\",\"tokens\":{\"prompt\":2,\"completion\":1}}";
    ask(port, "/v1/leases/" + lease.group(1) + "/settle", end);
  }

  private static HttpAnswer ask(int port, String path, String body) throws IOException {
    try (RawClient client = RawClient.connect(port)) {
      List<String> headers = List.of("x-session-id: s1");
      return client.send("POST", path, body.getBytes(StandardCharsets.UTF_8), headers).read();
    }
  }
}

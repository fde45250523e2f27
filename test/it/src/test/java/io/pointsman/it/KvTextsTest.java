package io.pointsman.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.it.support.Cluster;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.RunningRouter;
import io.pointsman.it.support.WaitFor;
import io.pointsman.tool.sim.SimConfig;
import io.pointsman.tool.sim.SimEngine;
import io.pointsman.tool.sim.failure.FailureTable;
import io.pointsman.tool.sim.failure.Fault;
import io.pointsman.tool.sim.failure.ScheduledFault;
import io.pointsman.tool.sim.zmq.EventFormat;
import io.pointsman.tool.sim.zmq.EventOptions;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.util.HashMap;
import java.util.Map;
import java.util.function.BooleanSupplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Text conversations over engines with KV events that render prompts. */
@Tag("full")
final class KvTextsTest {
  private static final int CONVERSATIONS = 10;
  private static final String TOKENS = "pointsman_kv_token_requests_total";
  private static final Pattern DECIDED = Pattern.compile("\"url\":\"http://[^\"]*:(\\d+)\"");
  private static final Pattern ROUTED = Pattern.compile("\"port\":(\\d+)");

  private static SimConfig publishing(SimConfig engine) {
    return engine.withKvMemory(4096, 16).withEvents(EventOptions.of(EventFormat.VLLM_MAP));
  }

  /** Each text is queried once, so a late response would never be repeated. */
  private static Cluster cluster(int engines, String policy, boolean renders) throws IOException {
    return cluster(engines, policy, renders, "30s");
  }

  private static Cluster cluster(int engines, String policy, boolean renders, String patience)
      throws IOException {
    return Cluster.of(engines)
        .policy(policy)
        .set("kv-events.mode", "auto")
        .set("kv-tokens.share", "1")
        .set("kv-tokens.timeout", patience)
        .engines(engine -> publishing(engine).withScaleOut(renders))
        .start();
  }

  private static String turn(int conversation, int messages) {
    StringBuilder body = new StringBuilder("{\"model\":\"%s\",".formatted(Cluster.MODEL));
    body.append("\"max_tokens\":1,\"messages\":[");
    for (int i = 0; i < messages; i++) {
      String text = ("Message " + i + " of conversation " + conversation + ". ").repeat(200);
      String role = i % 2 == 0 ? "user" : "assistant";
      body.append(i == 0 ? "" : ",");
      body.append("{\"role\":\"%s\",\"content\":\"%s\"}".formatted(role, text));
    }
    return body.append("]}").toString();
  }

  private static HttpAnswer ask(int port, String body) throws IOException {
    HttpAnswer answer = RawClient.call(port, "POST", "/v1/chat/completions", body);
    assertThat(answer.status()).as(answer.text()).isEqualTo(200);
    return answer;
  }

  private static int port(SimEngine engine) {
    return URI.create(engine.url()).getPort();
  }

  private static void awaitMetric(RunningRouter router, String name, String label, double least) {
    WaitFor.until(
        () -> least + " " + name + " " + label + ", not " + router.metric(name, label),
        WaitFor.LONG,
        () -> router.metric(name, label) >= least);
  }

  private static void awaitLive(Cluster cluster, int engines) {
    awaitMetric(cluster.router(), "pointsman_kv_event_sources_live", "", engines);
  }

  /**
   * Turn 1 comes through the router with its only worker. That worker then leaves, and others join
   * with the same prompts sent past the router. Turn 2 can be placed only by exact blocks.
   */
  @ParameterizedTest
  @CsvSource({"kv_aware, true", "cost, true", "kv_aware, false", "cost, false"})
  void secondTurnGoesToTheWorkerThatHoldsItsExactBlocks(String policy, boolean renders)
      throws Exception {
    try (Cluster cluster = cluster(3, policy, renders)) {
      awaitLive(cluster, 3);
      fleet(cluster, "remove_worker", 1);
      fleet(cluster, "remove_worker", 2);
      for (int i = 0; i < CONVERSATIONS; i++) {
        ask(cluster.port(), turn(i, 1));
        awaitMetric(cluster.router(), TOKENS, "learned", i + 1);
        ask(port(cluster.engine(1 + i % 2)), turn(i, 1));
      }
      fleet(cluster, "add_worker", 1);
      fleet(cluster, "add_worker", 2);
      awaitLive(cluster, 3);
      fleet(cluster, "remove_worker", 0);
      for (int i = 0; i < CONVERSATIONS; i++) {
        HttpAnswer answer = ask(cluster.port(), turn(i, 3));
        assertThat(answer.header("x-engine-id"))
            .as("turn 2 of %s", i)
            .isEqualTo("engine-" + (1 + i % 2));
      }
      assertThat(cluster.router().metric("pointsman_kv_texts_total", "partial"))
          .isGreaterThanOrEqualTo(CONVERSATIONS);
    }
  }

  /** The port in the decision for another proxy. */
  private static int decided(Cluster cluster, String path, String body) {
    boolean route = path.equals("/internal/route");
    String question = route ? body : "{\"reserve\":false,\"body\":" + body + "}";
    try {
      HttpAnswer answer = RawClient.call(cluster.port(), "POST", path, question);
      assertThat(answer.status()).as(answer.text()).isEqualTo(200);
      Matcher port = (route ? ROUTED : DECIDED).matcher(answer.text());
      assertThat(port.find()).as(answer.text()).isTrue();
      return Integer.parseInt(port.group(1));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The proxy sends the prompts to any engine, so only their exact blocks show where. */
  @ParameterizedTest
  @ValueSource(strings = {"/v1/decide", "/internal/route"})
  void promptsOfAnotherProxyAreQueriedToo(String path) throws Exception {
    try (Cluster cluster = cluster(2, "kv_aware", true)) {
      awaitLive(cluster, 2);
      for (int i = 0; i < CONVERSATIONS; i++) {
        int before = decided(cluster, path, turn(i, 1));
        assertThat(before).isIn(port(cluster.engine(0)), port(cluster.engine(1)));
        awaitMetric(cluster.router(), TOKENS, "learned", i + 1);
        ask(port(cluster.engine(i % 2)), turn(i, 1));
      }
      for (int i = 0; i < CONVERSATIONS; i++) {
        int holder = port(cluster.engine(i % 2));
        String next = turn(i, 3);
        WaitFor.until(
            "turn 2 of " + i + " is sent to who holds it",
            WaitFor.LONG,
            () -> decided(cluster, path, next) == holder);
      }
    }
  }

  private static void fleet(Cluster cluster, String change, int engine) throws IOException {
    String path = "/" + change + "?url=" + cluster.engine(engine).url();
    HttpAnswer answer = RawClient.call(cluster.port(), "POST", path, "");
    assertThat(answer.status()).as(answer.text()).isEqualTo(200);
  }

  private static ScheduledFault rendering(Fault fault) {
    return ScheduledFault.always(fault).on("/v1/chat/completions/render");
  }

  /** Each engine fails in another way; responses come as usual. */
  @Test
  void engineThatDoesNotRenderFailsNoRequestAndDelaysNone() throws Exception {
    try (Cluster cluster = cluster(2, "kv_aware", true, "10s")) {
      awaitLive(cluster, 2);
      Map<SimEngine, Integer> hanging = new HashMap<>();
      for (SimEngine engine : cluster.engines()) {
        hanging.put(engine, engine.failures().add(rendering(new Fault.Hang(0))));
      }
      for (int i = 0; i < 10; i++) {
        ask(cluster.port(), turn(i, 1));
      }
      assertThat(cluster.router().metric(TOKENS, "failed"))
          .as("given up before all were answered")
          .isZero();
      awaitMetric(cluster.router(), TOKENS, "failed", 1);
      // At no time can an engine render.
      hanging.forEach(
          (engine, hang) -> {
            engine.failures().add(rendering(new Fault.Status(500, 0)));
            engine.failures().remove(hang);
          });
      int[] next = {10};
      askUntil(cluster, next, "an engine is asked and fails", () -> struck(cluster) > 0);
      assertThat(cluster.router().metric(TOKENS, "learned")).isZero();
      assertThat(cluster.router().metric("pointsman_errors_total", "")).isZero();
      for (SimEngine engine : cluster.engines()) {
        engine.failures().clear();
      }
      askUntil(
          cluster,
          next,
          "prompts are learned again",
          () -> cluster.router().metric(TOKENS, "learned") > 0);
    }
  }

  /** Number of queries that met an active failure. */
  private static int struck(Cluster cluster) {
    return cluster.engines().stream()
        .flatMap(engine -> engine.failures().active().stream())
        .mapToInt(FailureTable.Active::struck)
        .sum();
  }

  /** Sends new prompts until the condition is true; failing workers rest for a while. */
  private static void askUntil(Cluster cluster, int[] next, String what, BooleanSupplier holds)
      throws Exception {
    WaitFor.until(
        what,
        WaitFor.LONG,
        () -> {
          try {
            ask(cluster.port(), turn(next[0]++, 1));
          } catch (IOException e) {
            throw new AssertionError(e);
          }
          return holds.getAsBoolean();
        });
  }
}

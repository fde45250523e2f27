package io.pointsman.it.split;

import static io.pointsman.it.split.SplitProtocolsTest.WORDS;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.WaitFor;
import io.pointsman.tool.sim.SimEngine;
import io.pointsman.tool.sim.kv.KvConnector;
import java.io.IOException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Decisions to split requests, and their report in responses. */
class SplitRulesTest {
  private static final Pattern CACHED = Pattern.compile("\"cached_tokens\":(\\d+)");

  private static SplitCluster.Setup nixl() {
    return SplitCluster.of("nixl", KvConnector.NIXL).direct();
  }

  private static String prompt(String more) {
    return "{\"model\":\"sim\",\"max_tokens\":3,\"prompt\":\"%s\"%s}".formatted(WORDS, more);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        ",\"n\":2",
        ",\"best_of\":3",
        ",\"echo\":true",
        ",\"prompt_logprobs\":1",
        ",\"use_beam_search\":true"
      })
  void unsplittableRequestsBypassPrefill(String more) throws IOException {
    try (SplitCluster cluster = nixl().start()) {
      HttpAnswer answer = cluster.post("/v1/completions", prompt(more));
      assertThat(answer.header("x-pointsman-split")).as(answer.text()).isEqualTo("unsplittable");
      assertThat(cluster.prefills.getFirst().requestLog()).isEmpty();
      assertThat(SplitCluster.body(cluster.decodes.getFirst().requestLog().getFirst()))
          .isEqualTo(prompt(more));
    }
  }

  /** Four characters count as a token; a prompt of exactly the threshold is split. */
  @ParameterizedTest
  @CsvSource({"39,short_input", "40,split", "41,split"})
  void theThresholdIsSplit(int tokens, String rule) throws IOException {
    try (SplitCluster cluster = nixl().set("threshold", 40).start()) {
      String text =
          "{\"model\":\"sim\",\"max_tokens\":3,\"prompt\":\"%s\"}".formatted("abc ".repeat(tokens));
      HttpAnswer answer = cluster.post("/v1/completions", text);
      assertThat(answer.status()).as(answer.text()).isEqualTo(200);
      assertThat(answer.header("x-pointsman-split")).isEqualTo(rule);
      assertThat(cluster.metric("pointsman_pd_decisions_total", "rule=\"" + rule + "\""))
          .isEqualTo(1);
    }
  }

  @Test
  void promptsCachedInDecodeAreNotPrefilledAgain() throws IOException {
    try (SplitCluster cluster = nixl().set("cached-share", 0.9).start()) {
      assertThat(cluster.post("/v1/completions", prompt("")).header("x-pointsman-split"))
          .isEqualTo("split");
      cluster.awaitQuiet();
      assertThat(cluster.post("/v1/completions", prompt("")).header("x-pointsman-split"))
          .isEqualTo("cached_on_decode");
      assertThat(cluster.prefills.getFirst().requestLog()).hasSize(1);
    }
  }

  private static void decided(SplitCluster cluster, String rule, int times) {
    assertThat(cluster.metric("pointsman_pd_decisions_total", "rule=\"" + rule + "\""))
        .as(rule)
        .isEqualTo(times);
  }

  /** First none of 1,200 tokens is cached, then all; a prompt of 43 is below the threshold. */
  @Test
  void fewUncachedTokensAreComputedByDecode() throws IOException {
    try (SplitCluster cluster = nixl().set("uncached-threshold", 100).start()) {
      String text =
          "{\"model\":\"sim\",\"max_tokens\":3,\"prompt\":\"%s\"}".formatted("abc ".repeat(1200));
      HttpAnswer first = cluster.post("/v1/completions", text);
      assertThat(first.header("x-pointsman-split")).as(first.text()).isEqualTo("split");
      cluster.awaitQuiet();
      decided(cluster, "few_uncached", 0);
      for (String body : new String[] {text, prompt("")}) {
        HttpAnswer answer = cluster.post("/v1/completions", body);
        assertThat(answer.status()).as(answer.text()).isEqualTo(200);
        assertThat(answer.header("x-pointsman-split")).isEqualTo("few_uncached");
        assertThat(answer.header("x-pointsman-prefill-worker")).isNull();
      }
      decided(cluster, "few_uncached", 2);
      decided(cluster, "split", 1);
      assertThat(cluster.prefills.getFirst().requestLog()).hasSize(1);
    }
  }

  @Test
  void decodeComputesRequestsWhilePrefillWorkersAreBusy() throws IOException {
    try (SplitCluster cluster = nixl().set("max-pending-prefill", 1000).start()) {
      Worker prefill = cluster.worker(cluster.prefills.getFirst());
      Lease atBound = requireNonNull(prefill.tryLease(System.nanoTime(), 1000, 0, (_, _) -> {}));
      assertThat(cluster.post("/v1/completions", prompt("")).header("x-pointsman-split"))
          .isEqualTo("split");
      Lease above = requireNonNull(prefill.tryLease(System.nanoTime(), 1, 0, (_, _) -> {}));
      HttpAnswer answer = cluster.post("/v1/completions", prompt(",\"user\":\"other\""));
      assertThat(answer.status()).as(answer.text()).isEqualTo(200);
      assertThat(answer.header("x-pointsman-split")).isEqualTo("prefill_loaded");
      assertThat(answer.header("x-pointsman-prefill-worker")).isNull();
      above.ignored();
      atBound.ignored();
      decided(cluster, "prefill_loaded", 1);
      decided(cluster, "split", 1);
      assertThat(cluster.prefills.getFirst().requestLog()).hasSize(1);
    }
  }

  @Test
  void otherRoutesGoToAWorkerThatCanServeThem() throws IOException {
    try (SplitCluster cluster = nixl().start()) {
      HttpAnswer embedded =
          cluster.post("/v1/embeddings", "{\"model\":\"sim\",\"input\":\"a few words\"}");
      assertThat(embedded.status()).as(embedded.text()).isEqualTo(200);
      assertThat(embedded.header("x-pointsman-split")).isEqualTo("unsplittable");
      HttpAnswer ranked =
          cluster.post("/v1/rerank", "{\"model\":\"sim\",\"query\":\"a\",\"documents\":[\"b\"]}");
      assertThat(ranked.status()).as(ranked.text()).isEqualTo(200);
      HttpAnswer tokens = cluster.post("/tokenize", "{\"model\":\"sim\",\"prompt\":\"a b\"}");
      assertThat(tokens.status()).as(tokens.text()).isEqualTo(200);
      HttpAnswer models = RawClient.call(cluster.port(), "GET", "/v1/models", "");
      assertThat(models.status()).isEqualTo(200);
      assertThat(models.text()).contains("\"sim\"");
      assertThat(cluster.prefills.getFirst().requestLog()).isEmpty();
    }
  }

  @Test
  void aStoredResponseStaysWithTheWorkerThatMadeIt() throws IOException {
    try (SplitCluster cluster = nixl().engines(1, 3).start()) {
      String first =
          "{\"model\":\"sim\",\"input\":\"%s\",\"max_output_tokens\":3}".formatted(WORDS);
      HttpAnswer made = cluster.post("/v1/responses", first);
      assertThat(made.header("x-pointsman-split")).isEqualTo("split");
      String id = made.text().replaceFirst("(?s).*?\"id\":\"(resp[^\"]+)\".*", "$1");
      HttpAnswer read = RawClient.call(cluster.port(), "GET", "/v1/responses/" + id, "");
      assertThat(read.status()).as(read.text()).isEqualTo(200);
      assertThat(read.header("x-pointsman-worker")).isEqualTo(made.header("x-pointsman-worker"));
      String next =
          "{\"model\":\"sim\",\"input\":\"%s\",\"previous_response_id\":\"%s\",\"max_output_tokens\":3}"
              .formatted(WORDS, id);
      HttpAnswer continued = cluster.post("/v1/responses", next);
      assertThat(continued.status()).as(continued.text()).isEqualTo(200);
      assertThat(continued.header("x-pointsman-worker"))
          .isEqualTo(made.header("x-pointsman-worker"));
    }
  }

  @Test
  void workersGetRolesAtRunTime() throws IOException {
    try (SplitCluster cluster = nixl().start();
        SimEngine prefill =
            SimEngine.start(cluster.prefills.getFirst().config().withPort(0).withId("late-p"));
        SimEngine decode =
            SimEngine.start(cluster.decodes.getFirst().config().withPort(0).withId("late-d"))) {
      cluster.worker(cluster.prefills.getFirst()).drain(true);
      assertThat(cluster.post("/v1/completions", prompt("")).header("x-pointsman-split"))
          .isEqualTo("no_prefill");
      add(cluster, prefill, "prefill");
      assertThat(cluster.post("/v1/completions", prompt("")).header("x-pointsman-split"))
          .isEqualTo("split");
      assertThat(prefill.kvState().steps().prefill()).isEqualTo(1);

      cluster.worker(cluster.decodes.getFirst()).drain(true);
      add(cluster, decode, "decode");
      HttpAnswer answer = cluster.post("/v1/completions", prompt(""));
      assertThat(answer.status()).as(answer.text()).isEqualTo(200);
      assertThat(answer.header("x-pointsman-prefill-worker"))
          .isEqualTo(cluster.worker(prefill).id());
      assertThat(answer.header("x-pointsman-worker")).isEqualTo(cluster.worker(decode).id());
      assertThat(decode.kvState().steps().decode()).isEqualTo(1);
      cluster.awaitQuiet();
    }
  }

  private static void add(SplitCluster cluster, SimEngine engine, String role) throws IOException {
    HttpAnswer added =
        cluster.post(
            "/workers", "{\"url\":\"%s\",\"worker_type\":\"%s\"}".formatted(engine.url(), role));
    assertThat(added.status()).as(added.text()).isEqualTo(200);
    WaitFor.until(
        "its models are known",
        WaitFor.LONG,
        () -> {
          Worker worker = cluster.worker(engine);
          return worker.health().healthy() && !worker.models().isEmpty();
        });
  }

  /** The number is that of prefill, which had the prompt cached; decode got all blocks from it. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void usageReportsPrefillsCachedTokens(boolean stream) throws IOException {
    try (SplitCluster cluster = nixl().engines(1, 2).set("decode-policy", "round_robin").start()) {
      String more =
          ",\"stream\":" + stream + (stream ? ",\"stream_options\":{\"include_usage\":true}" : "");
      HttpAnswer first = cluster.post("/v1/completions", prompt(more));
      assertThat(figure(first)).isZero();
      HttpAnswer again = cluster.post("/v1/completions", prompt(more));
      assertThat(again.complete()).isTrue();
      assertThat(cluster.decodes).allMatch(each -> each.requestLog().size() == 1);
      HttpAnswer prefilled =
          RawClient.call(
              cluster.prefills.getFirst().port(),
              "POST",
              "/v1/completions",
              prompt(",\"stream\":false"));
      assertThat(figure(again)).isPositive().isEqualTo(figure(prefilled));
    }
  }

  private static int figure(HttpAnswer answer) {
    Matcher figures = CACHED.matcher(answer.text());
    assertThat(figures.find()).as(answer.text()).isTrue();
    int figure = Integer.parseInt(figures.group(1));
    assertThat(figures.find()).as("one figure: " + answer.text()).isFalse();
    return figure;
  }

  /** Decode is called while prefill computes: it has connected and waits for the blocks. */
  @Test
  void concurrentRequestsOverlap() throws Exception {
    try (SplitCluster cluster =
        SplitCluster.of("sglang", KvConnector.SGLANG)
            .engine(e -> e.withLinearLatency(8, 1))
            .start()) {
      try (RawClient client = RawClient.connect(cluster.port())) {
        client.send("POST", "/v1/completions", prompt(",\"stream\":true"));
        WaitFor.until(
            "both work",
            WaitFor.LONG,
            () ->
                cluster.prefills.getFirst().state().sequences().running() == 1
                    && cluster.decodes.getFirst().state().requests().inFlight() == 1);
      }
      cluster.awaitQuiet();
    }
  }

  @Test
  void theFirstBytesArriveBeforeTheLastAreGenerated() throws Exception {
    try (SplitCluster cluster = nixl().engine(e -> e.withLinearLatency(1e6, 30)).start()) {
      try (RawClient client = RawClient.connect(cluster.port())) {
        client.send(
            "POST",
            "/v1/completions",
            prompt(",\"stream\":true,\"ignore_eos\":true")
                .replace("\"max_tokens\":3", "\"max_tokens\":200"));
        client.readHead();
        assertThat(client.readSome(new byte[64], 64)).isPositive();
        assertThat(cluster.decodes.getFirst().state().tokens().generated())
            .as("the first bytes come before the last are made")
            .isLessThan(150);
      }
      cluster.awaitQuiet();
    }
  }

  /** The router reads the prefill response, so it must not be encoded. */
  @Test
  void onlyDecodeMayEncodeItsAnswer() throws IOException {
    try (SplitCluster cluster = nixl().start()) {
      HttpAnswer answer =
          cluster.post("/v1/completions", prompt(""), "accept-encoding: identity, gzip");
      assertThat(answer.status()).isEqualTo(200);
      assertThat(cluster.prefills.getFirst().requestLog()).hasSize(1);
      assertThat(cluster.prefills.getFirst().requestLog().getFirst().headers())
          .noneMatch(header -> header.getKey().equalsIgnoreCase("accept-encoding"));
      assertThat(cluster.decodes.getFirst().requestLog()).hasSize(1);
      assertThat(cluster.decodes.getFirst().requestLog().getFirst().headers())
          .filteredOn(header -> header.getKey().equalsIgnoreCase("accept-encoding"))
          .singleElement()
          .satisfies(header -> assertThat(header.getValue()).isEqualTo("identity, gzip"));
    }
  }
}

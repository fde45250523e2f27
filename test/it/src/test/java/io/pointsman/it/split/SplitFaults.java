package io.pointsman.it.split;

import static io.pointsman.it.split.SplitProtocolsTest.WORDS;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.WaitFor;
import io.pointsman.tool.sim.SimEngine;
import io.pointsman.tool.sim.failure.Fault;
import io.pointsman.tool.sim.failure.ScheduledFault;
import io.pointsman.tool.sim.kv.KvConnector;
import java.io.IOException;
import java.util.List;

/** Common parts of failure tests: requests, failing engines, counters. */
final class SplitFaults {
  static final String PATH = "/v1/completions";

  /** Five tokens, not streamed. */
  static final String BODY = body(5, false);

  /** Continues as long as the client stays. */
  static final String LONG_STREAM = body(20_000, true);

  private SplitFaults() {}

  static String body(int tokens, boolean stream) {
    return "{\"model\":\"sim\",\"prompt\":\"%s\",\"max_tokens\":%d,\"stream\":%b}"
        .formatted(WORDS, tokens, stream);
  }

  static SplitCluster.Setup nixl() {
    return SplitCluster.of("nixl", KvConnector.NIXL);
  }

  /** Prefill takes no time, decode makes 20 tokens/s. */
  static SplitCluster.Setup slowDecode() {
    return nixl().engine(e -> e.withLinearLatency(1e6, 20));
  }

  static void fail(SimEngine engine, int times, Fault fault) {
    engine.failures().add(ScheduledFault.times(times, fault).on(PATH));
  }

  /**
   * The engine on which the only active request hangs; the others are made healthy.
   *
   * @param engines engines with {@link Fault.Hang}
   */
  static SimEngine awaitHung(List<SimEngine> engines) {
    WaitFor.until(
        "a request hangs", WaitFor.LONG, () -> engines.stream().anyMatch(SplitFaults::busy));
    engines.forEach(each -> each.failures().clear());
    return engines.stream().filter(SplitFaults::busy).findAny().orElseThrow();
  }

  private static boolean busy(SimEngine engine) {
    return engine.state().requests().inFlight() > 0;
  }

  /**
   * Makes the hanging request on an engine fail in another way; the request must still be there.
   */
  static void goOnWith(SimEngine engine, Fault fault) {
    int id = engine.failures().add(ScheduledFault.times(1, fault).on(PATH));
    engine.resumeHung();
    assertThat(engine.failures().active())
        .as("the fault has struck")
        .anySatisfy(
            active -> {
              assertThat(active.id()).isEqualTo(id);
              assertThat(active.struck()).isEqualTo(1);
            });
  }

  static void fail(List<SimEngine> engines, int times, Fault fault) {
    engines.forEach(each -> fail(each, times, fault));
  }

  /** Number of requests that engines got, including failed ones. */
  static int asked(List<SimEngine> engines) {
    return engines.stream().mapToInt(e -> e.requestLog().size()).sum();
  }

  static RawClient send(SplitCluster cluster, String body) throws IOException {
    return RawClient.connect(cluster.port()).send("POST", PATH, body);
  }

  /** A stream that has begun and continues. */
  static RawClient stream(SplitCluster cluster) throws IOException {
    RawClient client = send(cluster, LONG_STREAM);
    client.readHead();
    return client;
  }

  static HttpAnswer succeeds(SplitCluster cluster) throws IOException {
    HttpAnswer answer = cluster.post(PATH, BODY);
    assertThat(answer.status()).as(answer.text()).isEqualTo(200);
    return answer;
  }

  /** Checks the router's own refusal in OpenAI's format, with {@code Retry-After}. */
  static void refused(HttpAnswer answer, String code) {
    assertThat(answer.status()).as(answer.text()).isEqualTo(503);
    assertThat(answer.header("content-type")).startsWith("application/json");
    assertThat(answer.text())
        .matches(
            "\\{\"error\":\\{\"message\":\"[^\"]+\",\"type\":\"server_error\",\"param\":null,"
                + "\"code\":\""
                + code
                + "\"}}\\s*");
    assertThat(answer.header("retry-after")).matches("[1-9]\\d*");
  }

  /** Waits until this number of requests waits for workers. */
  static void waits(SplitCluster cluster, int requests) {
    WaitFor.until(
        requests + " wait",
        WaitFor.LONG,
        () -> cluster.metric("pointsman_pd_waiting", "") == requests);
  }

  static double handovers(SplitCluster cluster, String end) {
    return cluster.metric("pointsman_pd_handovers_total", "end=\"" + end + "\"");
  }

  static double prefillsEnded(SplitCluster cluster, String end) {
    return cluster.metric("pointsman_pd_prefills_total", "end=\"" + end + "\"");
  }
}

package io.pointsman.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.it.support.Cluster;
import io.pointsman.it.support.ConcurrentClients;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.WaitFor;
import io.pointsman.tool.sim.SimEngine;
import io.pointsman.tool.sim.live.EngineState;
import java.net.URI;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A proxy in another process: it queries the router over HTTP and forwards requests itself. */
final class DecideOnlyPlaneTest {
  private static final int CONVERSATIONS = 40;
  private static final int TURNS = 5;
  private static final int AT_ONCE = 8;
  private static final int ABANDONED = 1000;

  private static final Pattern LEASE = Pattern.compile("\"lease\":\"([^\"]+)\"");
  private static final Pattern URL = Pattern.compile("\"worker\":\\{[^}]*\"url\":\"([^\"]+)\"");
  private static final Pattern EXPIRY = Pattern.compile("\"expires_in_ms\":(\\d+)");
  private static final Pattern REPLICA = Pattern.compile("\"replica_id\"\\s*:\\s*\"([^\"]+)\"");
  private static final Pattern PORT = Pattern.compile("\"port\":(\\d+)");

  /** Sends one chat body to an engine and returns the status. */
  private interface ChatSender {
    int send(Cluster cluster, String body) throws Exception;
  }

  private static String found(Pattern pattern, String text) {
    Matcher matcher = pattern.matcher(text);
    if (!matcher.find()) {
      throw new AssertionError(pattern + " not in " + text);
    }
    return matcher.group(1);
  }

  private static int proxied(Cluster cluster, String body) throws Exception {
    return RawClient.call(cluster.port(), "POST", "/v1/chat/completions", body).status();
  }

  private static int decided(Cluster cluster, String body) throws Exception {
    String question = "{\"path\":\"/v1/chat/completions\",\"body\":" + body + "}";
    HttpAnswer answer = RawClient.call(cluster.port(), "POST", "/v1/decide", question);
    assertThat(answer.status()).as(answer.text()).isEqualTo(200);
    int port = URI.create(found(URL, answer.text())).getPort();
    int status = RawClient.call(port, "POST", "/v1/chat/completions", body).status();
    String settle = "/v1/leases/" + found(LEASE, answer.text()) + "/settle";
    String outcome = "{\"outcome\":\"" + (status == 200 ? "succeeded" : "failed") + "\"}";
    assertThat(RawClient.call(cluster.port(), "POST", settle, outcome).status()).isEqualTo(200);
    return status;
  }

  private static int routed(Cluster cluster, String body) throws Exception {
    HttpAnswer answer = RawClient.call(cluster.port(), "POST", "/internal/route", body);
    assertThat(answer.status()).as(answer.text()).isEqualTo(200);
    int port = Integer.parseInt(found(PORT, answer.text()));
    return RawClient.call(port, "POST", "/v1/chat/completions", body).status();
  }

  /** Hit rate of the engines' caches after conversations that grow turn by turn. */
  private static double hitRate(String policy, int atOnce, ChatSender sender) throws Exception {
    try (Cluster cluster = Cluster.of(8).policy(policy).start()) {
      List<Integer> statuses =
          ConcurrentClients.of(
              CONVERSATIONS, atOnce, i -> () -> converse(alone(atOnce, sender), cluster, i));
      assertThat(statuses).allMatch(status -> status == 200);
      assertThat(cluster.router().workers()).allMatch(worker -> worker.inFlight() == 0);
      List<EngineState.Tokens> tokens =
          cluster.engines().stream().map(engine -> engine.state().tokens()).toList();
      double queries = tokens.stream().mapToLong(EngineState.Tokens::cacheQueries).sum();
      return tokens.stream().mapToLong(EngineState.Tokens::cacheHits).sum() / queries;
    }
  }

  /** With one request at a time, sends each after the end of the last one is counted. */
  private static ChatSender alone(int atOnce, ChatSender sender) {
    return atOnce > 1
        ? sender
        : (cluster, body) -> {
          WaitFor.until("no load", WaitFor.LONG, () -> inFlight(cluster) == 0);
          return sender.send(cluster, body);
        };
  }

  private static int converse(ChatSender sender, Cluster cluster, int conversation)
      throws Exception {
    StringBuilder messages = new StringBuilder();
    for (int turn = 0; turn < TURNS; turn++) {
      String words = ("talk " + conversation + " turn " + turn + " ").repeat(600);
      messages.append(turn == 0 ? "" : ",");
      messages.append("{\"role\":\"user\",\"content\":\"").append(words).append("\"}");
      String body =
          "{\"model\":\"%s\",\"max_tokens\":2,\"messages\":[%s]}"
              .formatted(Cluster.MODEL, messages);
      int status = sender.send(cluster, body);
      if (status != 200) {
        return status;
      }
    }
    return 200;
  }

  /**
   * One at a time under {@code cost}: it ignores a hit if another worker answers sooner. With
   * several at once, the rate depends on how soon the end of a turn is reported.
   */
  @ParameterizedTest
  @CsvSource({"cache_aware, 8", "cost, 1"})
  @Tag("full")
  void enginesCachesHitAsOftenAsBehindTheBuiltInProxy(String policy, int atOnce) throws Exception {
    double proxied = hitRate(policy, atOnce, DecideOnlyPlaneTest::proxied);

    assertThat(proxied).isGreaterThan(0.5);
    assertThat(hitRate(policy, atOnce, DecideOnlyPlaneTest::decided)).isGreaterThan(proxied - 0.02);
    assertThat(hitRate(policy, atOnce, DecideOnlyPlaneTest::routed)).isGreaterThan(proxied - 0.02);
  }

  private static String abandoned(int i) {
    return "{\"model\":\"%s\",\"messages\":[{\"role\":\"user\",\"content\":\"%s\"}]}"
        .formatted(Cluster.MODEL, ("abandoned " + i + " ").repeat(100));
  }

  @ParameterizedTest
  @ValueSource(strings = {"least_load", "cost"})
  @Tag("full")
  void aThousandLeasesOfADeadProxyExpireAndNoneTooEarly(String policy) throws Exception {
    try (Cluster cluster = Cluster.of(4).policy(policy).start()) {
      List<Long> ends =
          ConcurrentClients.of(
              ABANDONED,
              AT_ONCE,
              i ->
                  () -> {
                    long asked = System.nanoTime();
                    String body = "{\"body\":%s,\"ttl_ms\":%d}".formatted(abandoned(i), 3000 + i);
                    HttpAnswer answer = RawClient.call(cluster.port(), "POST", "/v1/decide", body);
                    long held = Long.parseLong(found(EXPIRY, answer.text()));
                    assertThat(held).isEqualTo(3000 + i);
                    return asked + held * 1_000_000;
                  });

      WaitFor.until(
          () -> "leases counted back: " + inFlight(cluster),
          WaitFor.LONG,
          () -> {
            int counted = inFlight(cluster);
            long now = System.nanoTime();
            long mustBeHeld = ends.stream().filter(end -> end - now > 0).count();
            assertThat((long) counted).isGreaterThanOrEqualTo(mustBeHeld);
            return counted == 0;
          });

      // A lease is released before its end is counted.
      WaitFor.until("ends counted", WaitFor.LONG, () -> expired(cluster) >= ABANDONED);
      assertThat(expired(cluster)).isEqualTo(ABANDONED);
      assertThat(cluster.router().metric("pointsman_external_leases", "")).isZero();
      // It is unknown whether these prompts were ever sent.
      String question = "{\"reserve\":false,\"body\":" + abandoned(7) + "}";
      HttpAnswer again = RawClient.call(cluster.port(), "POST", "/v1/decide", question);
      assertThat(again.text()).contains("\"matched_blocks\":0");
    }
  }

  private static double expired(Cluster cluster) {
    return cluster.router().metric("pointsman_external_leases_ended_total", "outcome=\"expired\"");
  }

  private static int inFlight(Cluster cluster) {
    return cluster.router().workers().stream().mapToInt(Worker::inFlight).sum();
  }

  @Test
  @Tag("full")
  void leasesCountAsLoadForTheBuiltInProxyToo() throws Exception {
    try (Cluster cluster = Cluster.of(2).policy("least_load").start()) {
      String question = "{\"body\":{\"model\":\"%s\",\"messages\":[]}}".formatted(Cluster.MODEL);
      String first = RawClient.call(cluster.port(), "POST", "/v1/decide", question).text();
      String loaded = found(URL, first);
      String chat =
          "{\"model\":\"%s\",\"max_tokens\":1,\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}"
              .formatted(Cluster.MODEL);
      for (int i = 0; i < 20; i++) {
        assertThat(proxied(cluster, chat)).isEqualTo(200);
      }

      for (SimEngine engine : cluster.engines()) {
        long served = engine.state().requests().served();
        assertThat(served).isEqualTo(engine.url().equals(loaded) ? 0 : 20);
      }
      assertThat(RawClient.call(cluster.port(), "GET", "/workers", "").text())
          .contains("\"load\":1");
      String settle = "/v1/leases/" + found(LEASE, first) + "/settle";
      assertThat(
              RawClient.call(cluster.port(), "POST", settle, "{\"outcome\":\"ignored\"}").status())
          .isEqualTo(200);
    }
  }

  @Test
  void aSessionGoesToOneWorkerThroughEveryProxy() throws Exception {
    try (Cluster cluster = Cluster.of(4).policy("consistent_hash").start()) {
      Map<String, String> workers = new HashMap<>();
      for (int session = 0; session < 20; session++) {
        String body =
            "{\"model\":\"%s\",\"max_tokens\":1,\"user\":\"u%d\",\"messages\":[]}"
                .formatted(Cluster.MODEL, session);
        List<String> found = new ArrayList<>();
        found.add(
            String.valueOf(
                RawClient.call(cluster.port(), "POST", "/v1/chat/completions", body)
                    .header("x-pointsman-worker")));
        found.add(
            found(REPLICA, RawClient.call(cluster.port(), "POST", "/internal/route", body).text()));
        String question = "{\"reserve\":false,\"body\":" + body + "}";
        String url =
            found(URL, RawClient.call(cluster.port(), "POST", "/v1/decide", question).text());
        found.add(url.replace("http://", ""));
        assertThat(found.stream().distinct()).hasSize(1);
        workers.put("u" + session, found.getFirst());
      }
      assertThat(workers.values().stream().distinct().count()).isGreaterThan(1);
    }
  }

  @Test
  @Tag("full")
  void aTwentyMegabyteBodyIsRoutedByItsFirstPartOrRefused() throws Exception {
    try (Cluster cluster = Cluster.of(4).policy("cache_aware").start()) {
      String words = "all work and no play ".repeat(1_000_000);
      String body =
          "{\"model\":\"%s\",\"messages\":[{\"role\":\"user\",\"content\":\"%s\"}]}"
              .formatted(Cluster.MODEL, words);
      List<String> replicas = new ArrayList<>();
      for (int i = 0; i < 5; i++) {
        HttpAnswer answer = RawClient.call(cluster.port(), "POST", "/internal/route", body);
        assertThat(answer.status()).isEqualTo(200);
        replicas.add(found(REPLICA, answer.text()));
      }

      assertThat(replicas.stream().distinct()).hasSize(1);
      String head = body.substring(0, 100_000);
      assertThat(
              found(
                  REPLICA, RawClient.call(cluster.port(), "POST", "/internal/route", head).text()))
          .isEqualTo(replicas.getFirst());
      assertThat(inFlight(cluster)).isZero();
    }
  }

  @Test
  @Tag("full")
  void wrongMethodsAndWrongJsonAreAnswered() throws Exception {
    try (Cluster cluster = Cluster.of(1).start()) {
      for (String path : List.of("/v1/decide", "/internal/route", "/v1/leases/x/settle")) {
        HttpAnswer answer = RawClient.call(cluster.port(), "GET", path, "");
        assertThat(answer.status()).as(path).isEqualTo(405);
        assertThat(answer.header("allow")).isEqualTo("POST");
      }
      assertThat(RawClient.call(cluster.port(), "POST", "/v1/decide", "{\"body\"").status())
          .isEqualTo(400);
      assertThat(RawClient.call(cluster.port(), "POST", "/internal/route", "{\"mess").status())
          .isEqualTo(200);
      assertThat(inFlight(cluster)).isZero();
    }
  }
}

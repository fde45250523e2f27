package io.pointsman.it.compat;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Distribution of requests by policies, and limits. */
@Timeout(120)
@Tag("full")
class VllmRouterBalanceTest {
  private final List<MockWorker> workers = new ArrayList<>();

  @BeforeEach
  void start() throws IOException {
    for (int i = 0; i < 3; i++) {
      workers.add(MockWorker.start("worker-" + i));
    }
  }

  @AfterEach
  void stop() {
    workers.forEach(MockWorker::close);
  }

  private static String chat(String question) {
    return "{\"model\":\"test-model\",\"messages\":[{\"role\":\"system\",\"content\":\"You review"
        + " changes with great care, one file after the other.\"},{\"role\":\"user\","
        + "\"content\":\""
        + question
        + "\"}],\"max_tokens\":1}";
  }

  private MockWorker[] first(int count) {
    return workers.subList(0, count).toArray(MockWorker[]::new);
  }

  @Test
  void roundRobinIsEven() throws Exception {
    try (LaunchedRouter router = LaunchedRouter.start("--policy round_robin", first(3))) {
      Map<String, Integer> counts =
          LaunchedRouter.byWorker(LaunchedRouter.manyTimes(30, 1, () -> router.complete("same")));
      assertThat(counts).hasSize(3);
      assertThat(counts.values()).allSatisfy(count -> assertThat(count).isBetween(7, 13));
    }
  }

  @Test
  void randomIsRoughlyEven() throws Exception {
    try (LaunchedRouter router = LaunchedRouter.start("--policy random", first(2))) {
      Map<String, Integer> counts =
          LaunchedRouter.byWorker(LaunchedRouter.manyTimes(200, 4, () -> router.complete("same")));
      assertThat(counts.values()).hasSize(2).allSatisfy(n -> assertThat(n).isBetween(50, 150));
    }
  }

  @Test
  void anEqualPromptStaysWithOneWorker() throws Exception {
    try (LaunchedRouter router = LaunchedRouter.start("--policy cache_aware", first(2))) {
      Map<String, Integer> counts =
          LaunchedRouter.byWorker(
              LaunchedRouter.manyTimes(12, 1, () -> router.complete("repeated prompt for cache")));
      assertThat(Collections.max(counts.values())).isGreaterThanOrEqualTo(10);
    }
  }

  @Test
  void anEqualSystemPromptStaysWithOneWorker() throws Exception {
    try (LaunchedRouter router = LaunchedRouter.start("--policy cache_aware", first(2))) {
      Map<String, Integer> counts =
          LaunchedRouter.byWorker(
              LaunchedRouter.manyTimes(
                  12,
                  1,
                  () ->
                      router.send(
                          "POST", "/v1/chat/completions", chat("Change " + UUID.randomUUID()))));
      assertThat(Collections.max(counts.values())).isGreaterThanOrEqualTo(10);
    }
  }

  @Test
  void differentPromptsSpread() throws Exception {
    workers.forEach(worker -> worker.latencyMillis = 30);
    try (LaunchedRouter router =
        LaunchedRouter.start(
            "--policy cache_aware --cache-threshold 0.99 --balance-abs-threshold 0"
                + " --balance-rel-threshold 1.0",
            first(3))) {
      Map<String, Integer> counts =
          LaunchedRouter.byWorker(
              LaunchedRouter.manyTimes(
                  40, 16, () -> router.complete(UUID.randomUUID().toString())));
      assertThat(counts).hasSizeGreaterThanOrEqualTo(2);
    }
  }

  @Test
  void powerOfTwoSparesTheSlowWorker() throws Exception {
    workers.getFirst().latencyMillis = 200;
    try (LaunchedRouter router = LaunchedRouter.start("--policy power_of_two", first(2))) {
      Map<String, Integer> counts =
          LaunchedRouter.byWorker(LaunchedRouter.manyTimes(200, 32, () -> router.complete("p")));
      assertThat(counts.getOrDefault("worker-0", 0)).isLessThan(counts.get("worker-1"));
    }
  }

  @Test
  void aFullRouterWithoutAQueueRefuses() throws Exception {
    workers.getFirst().latencyMillis = 2000; // so all requests arrive in the meantime
    try (LaunchedRouter router =
        LaunchedRouter.start(
            "--policy round_robin --max-concurrent-requests 2 --queue-size 0", first(1))) {
      var responses = LaunchedRouter.manyTimes(16, 16, () -> router.complete("p"));
      assertThat(responses).anyMatch(r -> r.statusCode() == 200);
      assertThat(responses)
          .filteredOn(r -> r.statusCode() != 200)
          .isNotEmpty()
          .allSatisfy(
              r -> {
                assertThat(r.statusCode()).isEqualTo(429);
                assertThat(r.headers().firstValueAsLong("Retry-After").orElse(0)).isPositive();
              });
    }
  }

  @Test
  void aRequestThatWaitsTooLongGets408() throws Exception {
    workers.getFirst().latencyMillis = 2000;
    try (LaunchedRouter router =
        LaunchedRouter.start(
            "--policy round_robin --max-concurrent-requests 1 --queue-size 1"
                + " --queue-timeout-secs 1",
            first(1))) {
      List<Integer> statuses =
          LaunchedRouter.manyTimes(4, 4, () -> router.complete("p").statusCode());
      assertThat(statuses).contains(200, 408).isSubsetOf(200, 408, 429);
    }
  }
}

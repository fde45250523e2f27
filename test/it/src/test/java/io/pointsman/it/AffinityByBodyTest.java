package io.pointsman.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.it.support.Cluster;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import java.io.IOException;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Sessions that only the body names, under {@code consistent_hash}. */
@SuppressWarnings("NullAway.Init") // set before all tests
final class AffinityByBodyTest {
  private static final int SESSIONS = 24;

  /** A text in a JSON string that a plain text search would mistake for a user field. */
  private static final String LOOKS_LIKE_A_USER = "\\\"user\\\": \\\"x\\\"";

  private static Cluster cluster;

  @BeforeAll
  static void start() throws Exception {
    cluster = Cluster.of(8).policy("consistent_hash").start();
  }

  @AfterAll
  static void stop() throws Exception {
    cluster.close();
  }

  @ParameterizedTest
  @ValueSource(strings = {"/v1/chat/completions", "/v1/completions"})
  void sessionInTheBodyAlwaysGoesToOneWorker(String path) throws Exception {
    Set<String> workers = new HashSet<>();
    for (int i = 0; i < 40; i++) {
      workers.add(engineOf(path, "\"session_params\":{\"session_id\":\"s1\"}", "prompt " + i));
    }

    assertThat(workers).hasSize(1);
  }

  @Test
  void sessionGoesToTheSameWorkerOnEveryRoute() throws Exception {
    String session = "\"session_params\":{\"session_id\":\"s1\"}";

    assertThat(engineOf("/v1/chat/completions", session, "a"))
        .isEqualTo(engineOf("/v1/completions", session, "b"))
        .isEqualTo(engineOf("/echo/unknown", session, "c"));
  }

  @Test
  void differentSessionsSpread() throws Exception {
    Set<String> workers = new HashSet<>();
    for (int i = 0; i < SESSIONS; i++) {
      String session = "\"session_params\":{\"session_id\":\"session-%d\"}".formatted(i);
      workers.add(engineOf("/v1/completions", session, "the same prompt"));
    }

    assertThat(workers).hasSizeGreaterThan(3);
  }

  @Test
  void userInsideAPromptDoesNotOverrideTheSession() throws Exception {
    for (int i = 0; i < SESSIONS; i++) {
      String session = "\"session_params\":{\"session_id\":\"session-%d\"}".formatted(i);

      assertThat(engineOf("/v1/chat/completions", session, LOOKS_LIKE_A_USER))
          .isEqualTo(engineOf("/v1/chat/completions", session, "nothing of the kind"));
    }
  }

  @Test
  void userInsideAPromptIsNoUser() throws Exception {
    Map<String, Integer> byWorker = new HashMap<>();
    for (int i = 0; i < SESSIONS; i++) {
      String prompt = "question " + i + " " + LOOKS_LIKE_A_USER + " and so on";
      byWorker.merge(engineOf("/v1/completions", "\"seed\":1", prompt), 1, Integer::sum);
    }

    assertThat(byWorker.keySet())
        .as("workers of prompts that name no session")
        .hasSizeGreaterThan(3);
  }

  @Test
  void userInsideAnotherObjectIsNoUser() throws Exception {
    Set<String> workers = new HashSet<>();
    for (int i = 0; i < SESSIONS; i++) {
      String metadata = "\"metadata\":{\"user\":\"x\",\"session_id\":\"y\"}";
      workers.add(engineOf("/v1/completions", metadata, "question " + i));
    }

    assertThat(workers).hasSizeGreaterThan(3);
  }

  @Test
  void userFieldNamesTheUser() throws Exception {
    Set<String> workers = new HashSet<>();
    for (int i = 0; i < SESSIONS; i++) {
      workers.add(engineOf("/v1/completions", "\"user\": \"x\"", "question " + i));
    }

    assertThat(workers).hasSize(1);
  }

  private static String engineOf(String path, String field, String prompt) throws IOException {
    String body =
        """
        {"model":"sim","max_tokens":1,%s,"prompt":"%s","messages":[{"role":"user","content":"%s"}]}\
        """
            .formatted(field, prompt, prompt);
    HttpAnswer answer = RawClient.call(cluster.port(), "POST", path, body);
    assertThat(answer.status()).isEqualTo(200);
    String engine = answer.header("x-engine-id");
    assertThat(engine).isNotNull();
    return String.valueOf(engine);
  }
}

package io.pointsman.it;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.pointsman.it.support.Cluster;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Bodies without a key, truncated, huge or malformed: each gets a response, nothing hangs, and no
 * lease is left.
 */
@Timeout(120)
@Tag("full")
final class PlaneBodiesTest {
  private static final String LEASES = "pointsman_external_leases";
  private static final int MEGABYTE = 1 << 20;

  private static Cluster cluster;

  @BeforeAll
  static void start() throws IOException {
    cluster = Cluster.of(2).policy("cache_aware").start();
  }

  @AfterAll
  static void stop() {
    cluster.close();
  }

  @AfterEach
  void nothingIsLeft() throws Exception {
    assertThat(cluster.router().workers()).allMatch(worker -> worker.inFlight() == 0);
    assertThat(cluster.router().metric(LEASES, "")).isZero();
  }

  /** Sends the body and then a plain request on the same connection. */
  private static HttpAnswer sent(String path, String body) throws IOException {
    try (RawClient client = RawClient.connect(cluster.port())) {
      HttpAnswer answer = client.send("POST", path, body).read();
      String plain = "{\"model\":\"" + Cluster.MODEL + "\",\"prompt\":\"plain\"}";
      assertThat(client.send("POST", "/internal/route", plain).read().status()).isEqualTo(200);
      return answer;
    }
  }

  private static String named(String body) {
    return body.replace("\"model\":\"m\"", "\"model\":\"" + Cluster.MODEL + "\"");
  }

  private static final String EIGHT_BODIES =
      """
      empty|200|400|
      truncated|200|400|{"model":"m","mess
      not json|200|400|hello there
      array|200|400|[1,2,3]
      no key|200|200|{"model":"m","max_tokens":5}
      empty messages|200|200|{"model":"m","messages":[]}
      empty prompt|200|200|{"model":"m","prompt":""}
      input only|200|200|{"model":"m","input":"some text that is long enough to be a key"}
      """;

  @ParameterizedTest
  @CsvSource(delimiter = '|', quoteCharacter = '\0', textBlock = EIGHT_BODIES)
  void bodiesWithoutAKeyAreAnswered(String name, int routed, int decided, String written)
      throws Exception {
    String body = written == null ? "" : named(written);

    HttpAnswer route = sent("/internal/route", body);
    HttpAnswer decide =
        sent(
            "/v1/decide",
            "{\"reserve\":false,\"body\":" + new ObjectMapper().writeValueAsString(body) + "}");

    assertThat(route.status()).as(name + ": " + route.text()).isEqualTo(routed);
    assertThat(route.text()).as(name).contains("replica_id");
    assertThat(decide.status()).as(name + ": " + decide.text()).isEqualTo(decided);
    if (decided == 400) {
      assertThat(decide.text()).contains("\"code\":\"invalid_body\"");
    }
  }

  @Test
  void aTruncatedBodyIsRoutedByItsFirstPartIfMarked() throws Exception {
    String text = "one two three four ".repeat(200);
    String head = named("{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"" + text);

    HttpAnswer answer =
        sent(
            "/v1/decide",
            "{\"reserve\":false,\"truncated\":true,\"body\":"
                + new ObjectMapper().writeValueAsString(head)
                + "}");

    assertThat(answer.status()).as(answer.text()).isEqualTo(200);
    assertThat(answer.text()).doesNotContain("\"prompt_blocks\":0,");
  }

  @Test
  void twentyMegabytesAreRefusedByDecideAndRoutedByTheirFirstPartByRoute() throws Exception {
    String body = named("{\"model\":\"m\",\"prompt\":\"" + "x".repeat(20 * MEGABYTE) + "\"}");

    try (RawClient client = RawClient.connect(cluster.port())) {
      HttpAnswer decide =
          client
              .send(
                  "POST",
                  "/v1/decide",
                  ("{\"body\":" + body + "}").getBytes(StandardCharsets.UTF_8),
                  List.of())
              .read();
      assertThat(decide.status()).as(decide.text()).isEqualTo(413);
      assertThat(decide.text()).contains("\"code\":\"body_too_large\"");
    }
    assertThat(sent("/internal/route", body).status()).isEqualTo(200);
  }

  @ParameterizedTest
  @ValueSource(strings = {"GET", "PUT", "DELETE", "PATCH"})
  void wrongMethodsAreRefusedWithTheAllowedOne(String method) throws Exception {
    for (String path : List.of("/v1/decide", "/internal/route")) {
      HttpAnswer answer = RawClient.call(cluster.port(), method, path, "{}");

      assertThat(answer.status()).as(method + " " + path).isEqualTo(405);
      assertThat(answer.header("allow")).as(method + " " + path).isEqualTo("POST");
      assertThat(answer.text()).contains("\"error\"");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "{", "null", "[]", "{\"body\":{}} {}", "{\"bodi\":{}}", "\u0000"})
  void wrongJsonIsRefusedByDecide(String question) throws Exception {
    HttpAnswer answer = sent("/v1/decide", question);

    assertThat(answer.status()).as(answer.text()).isEqualTo(400);
    assertThat(answer.text()).contains("\"type\":\"invalid_request_error\"");
  }
}

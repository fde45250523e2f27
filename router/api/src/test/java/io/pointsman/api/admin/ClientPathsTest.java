package io.pointsman.api.admin;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import io.pointsman.proxy.local.ClosedPaths;
import io.pointsman.proxy.local.LocalEndpoint;
import io.pointsman.proxy.local.LocalRequest;
import io.pointsman.proxy.local.LocalResponse;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class ClientPathsTest {
  private static final ClosedPaths STANDARD =
      ClientPaths.closed(List.of(), Set.of("/own", "/health"), List.of(), Set.of("/health"));

  /** The answer to a closed path; empty for an open one. */
  private static String answer(ClosedPaths closed, String method, String path) throws Exception {
    LocalEndpoint refusal = closed.at(method, path);
    if (refusal == null) {
      return "";
    }
    LocalResponse response =
        refusal.handle(new LocalRequest(method, path, "", Map.of(), new byte[0], "id"));
    return response.status() + new String(response.body(), StandardCharsets.UTF_8);
  }

  static List<String> closedPaths() {
    return ClientPaths.unserved();
  }

  @ParameterizedTest
  @MethodSource("closedPaths")
  void controlPathsAndTheRoutersOwnAreClosedForEveryMethod(String path) throws Exception {
    String begun = path.replace("*", "");
    String asked = path.endsWith("/") ? path + "x" : begun;
    for (String method : List.of("GET", "POST", "PUT", "DELETE", "HEAD")) {
      assertThat(answer(STANDARD, method, asked)).startsWith("404").contains("admin_path", begun);
    }
    assertThat(answer(STANDARD, "POST", asked.toUpperCase(Locale.ROOT))).startsWith("404");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/v1/chat/completions",
        "/v1/messages",
        "/v1/responses/resp_1",
        "/v1/models",
        "/health",
        "/generate",
        "/version",
        "/sleeper",
        "/v1/sleep",
        "/v1/fine_tuning/jobs/a/pause",
        "/worker"
      })
  void pathsOfClientsAreOpen(String path) {
    assertThatCode(() -> assertThat(answer(STANDARD, "POST", path)).isEmpty())
        .doesNotThrowAnyException();
  }

  /** vLLM and SGLang serve their metrics at all paths that begin so. */
  @ParameterizedTest
  @ValueSource(strings = {"/metrics", "/metricsx", "/metrics/", "/METRICS/a/b", "/metrics/../x"})
  void allPathsOfAnEnginesMetricsAreClosed(String path) throws Exception {
    assertThat(answer(STANDARD, "GET", path)).startsWith("404").contains("/metrics is not served");
  }

  @Test
  void everyPathOfTheAdminListenerIsClosed() throws Exception {
    assertThat(answer(STANDARD, "GET", "/own")).startsWith("404").contains("admin.host");
    assertThat(answer(STANDARD, "GET", "/health")).isEmpty();
  }

  @Test
  void refusedPathsPrecede() throws Exception {
    ClosedPaths closed =
        ClientPaths.closed(List.of("/sleep", "/Mine"), List.of(), List.of(), List.of());

    assertThat(answer(closed, "POST", "/sleep")).startsWith("501").contains("path_refused");
    assertThat(answer(closed, "PUT", "/mine")).startsWith("501");
    assertThat(answer(closed, "POST", "/wake_up")).startsWith("404");
  }

  @ParameterizedTest
  @CsvSource({
    "POST, /v1/chat/completions, true",
    "GET, /v1/chat/completions, false",
    "GET, /v1/responses/a, true",
    "POST, /v1/other, false",
    "GET, /docs, false",
    "GET, /mine, true",
    "GET, /mine/x, false",
    "GET, /below/x, true",
    "GET, /below, false",
    "POST, /sleep, false"
  })
  void withAnAllowListOnlyItsPathsAreOpen(String method, String path, boolean open)
      throws Exception {
    ClosedPaths closed =
        ClientPaths.closed(
            List.of(), List.of(), List.of("api", "/mine", "/below/*", "/sleep"), List.of());

    assertThat(answer(closed, method, path).isEmpty()).isEqualTo(open);
  }
}

package io.pointsman.server.wiring;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.pointsman.config.ConfigValues;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.key.FrontKeys;
import io.pointsman.config.key.OperationKeys;
import io.pointsman.config.key.RoutingKeys;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.engine.policy.RequestFields;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.testkit.Await;
import io.pointsman.tool.sim.SimConfig;
import io.pointsman.tool.sim.SimEngine;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A policy from a jar that routes by a header and by a body field. */
@Timeout(120)
class RequestFieldsPolicyTest {
  /** The policy of docs/plug-ins.md. */
  private static final String TIER =
      """
      package com.example;

      import io.pointsman.engine.fleet.Pool;
      import io.pointsman.engine.fleet.Worker;
      import io.pointsman.engine.policy.PickReason;
      import io.pointsman.engine.policy.PickResult;
      import io.pointsman.engine.policy.Picker;
      import io.pointsman.engine.policy.Policy;
      import io.pointsman.engine.policy.ReadsRequest;
      import io.pointsman.engine.policy.RequestFields;
      import io.pointsman.engine.policy.WantedFields;
      import java.util.Set;

      /** The least loaded of the workers with the label tier that the request asks for. */
      public final class TierPolicy implements Policy, ReadsRequest {
        @Override
        public WantedFields wanted() {
          return new WantedFields(Set.of("x-tier"), Set.of("service_tier"));
        }

        @Override
        public Picker picker(Pool pool) {
          return (request, now) -> {
            String tier = tier(request.fields());
            Worker least = null;
            for (Worker worker : pool.workers()) {
              boolean fits = tier.equals(worker.spec().labels().get("tier"));
              boolean less = least == null || worker.inFlight() < least.inFlight();
              if (fits && less && request.admits(worker, now)) {
                least = worker;
              }
            }
            request.picked(PickResult.of(PickReason.LEAST_LOAD));
            return least;
          };
        }

        private static String tier(RequestFields fields) {
          String header = fields.header("x-tier");
          Object field = fields.field("service_tier");
          return header != null ? header : field instanceof String text ? text : "default";
        }
      }
      """;

  @TempDir Path directory;
  private final Deque<AutoCloseable> opened = new ArrayDeque<>();
  private final List<WorkerSpec> workers = new ArrayList<>();

  /** Tiers by worker id. */
  private final Map<String, String> tiers = new HashMap<>();

  @BeforeEach
  void startEngines() throws Exception {
    PluginJars.write(directory, "TierPolicy", TIER);
    for (String tier : List.of("default", "flex", "priority")) {
      SimEngine engine = SimEngine.start(SimConfig.instant().withModels("m"));
      opened.push(engine);
      WorkerSpec worker = WorkerSpec.of(engine.url()).withLabels(Map.of("tier", tier));
      workers.add(worker);
      tiers.put(worker.id(), tier);
    }
  }

  @AfterEach
  void closeAll() throws Exception {
    while (!opened.isEmpty()) {
      opened.pop().close();
    }
  }

  private PointsmanConfig config(String policy) {
    return PointsmanConfig.from(
        new ConfigValues()
            .set(FrontKeys.PORT, 0)
            .set(OperationKeys.METRICS_PORT, 0)
            .set(RoutingKeys.POLICY, policy)
            .set(RoutingKeys.PLUGIN_DIRECTORY, directory.toString())
            .set(RoutingKeys.WORKERS, workers));
  }

  private Router router() throws Exception {
    Router router = Router.start(config("com.example.TierPolicy"), "test");
    opened.push(router);
    Await.until(
        "all healthy",
        () -> router.fleet().snapshot().workers().stream().allMatch(w -> w.health().healthy()));
    return router;
  }

  private static String body(String fields) {
    return "{\"model\":\"m\",\"prompt\":\"x\",\"max_tokens\":1" + fields + "}";
  }

  private static HttpResponse<String> post(String url, String body, String... headers)
      throws Exception {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(url))
            .header("content-type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(body));
    if (headers.length > 0) {
      request.headers(headers);
    }
    try (HttpClient http = HttpClient.newHttpClient()) {
      HttpResponse<String> answer =
          http.send(request.build(), HttpResponse.BodyHandlers.ofString());
      assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
      return answer;
    }
  }

  private @Nullable String served(Router router, String fields, String... headers)
      throws Exception {
    HttpResponse<String> answer = post(router.url() + "/v1/completions", body(fields), headers);
    return tiers.get(answer.headers().firstValue("x-pointsman-worker").orElse("none"));
  }

  @Test
  void requestsAreRoutedByAHeaderOrABodyField() throws Exception {
    Router router = router();
    for (int i = 0; i < 3; i++) {
      assertThat(served(router, "")).isEqualTo("default");
      assertThat(served(router, "", "X-Tier", "flex")).isEqualTo("flex");
      assertThat(served(router, ",\"service_tier\":\"priority\"")).isEqualTo("priority");
      assertThat(served(router, ",\"service_tier\":\"priority\"", "x-tier", "flex"))
          .isEqualTo("flex");
    }
  }

  private @Nullable String decided(Router router, String headers, String fields) throws Exception {
    String question =
        "{\"path\":\"/v1/completions\",\"headers\":{"
            + headers
            + "},\"body\":"
            + body(fields)
            + "}";
    String answer = post(router.adminUrl() + "/v1/decide", question).body();
    return tiers.get(new ObjectMapper().readTree(answer).path("worker").path("id").asText());
  }

  @Test
  void decisionsForExternalProxiesUseThemToo() throws Exception {
    Router router = router();
    assertThat(decided(router, "", "")).isEqualTo("default");
    assertThat(decided(router, "\"X-Tier\":\"flex\"", "")).isEqualTo("flex");
    assertThat(decided(router, "", ",\"service_tier\":\"priority\"")).isEqualTo("priority");
  }

  private RoutingRequest readBy(String policy) {
    EmbeddedEngine engine = EmbeddedEngine.start(config(policy));
    opened.push(engine);
    return engine.read(
        "POST",
        "/v1/completions",
        Map.of("X-Tier", List.of("flex"), "Authorization", List.of("Bearer k")),
        body(",\"service_tier\":\"priority\"").getBytes(StandardCharsets.UTF_8));
  }

  @Test
  void anEmbeddedEngineReadsThem() {
    RequestFields fields = readBy("com.example.TierPolicy").fields();
    assertThat(fields.headers()).isEqualTo(Map.of("x-tier", "flex"));
    assertThat(fields.body()).isEqualTo(Map.of("service_tier", "priority"));
    assertThat(fields.path()).isEqualTo("/v1/completions");
  }

  @Test
  void nothingIsStoredForPoliciesWithoutFields() {
    assertThat(readBy("round_robin").fields()).isSameAs(RequestFields.NONE);
  }
}

package io.pointsman.server.embed;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.pointsman.engine.choice.Choice;
import io.pointsman.engine.choice.TokenCounts;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.pd.choice.SplitChoice;
import io.pointsman.pd.choice.SplitChoices;
import io.pointsman.server.wiring.EmbeddedEngine;
import io.pointsman.server.wiring.Router;
import io.pointsman.server.wiring.StartException;
import io.pointsman.testkit.Await;
import io.pointsman.tool.sim.SimConfig;
import io.pointsman.tool.sim.SimEngine;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.jar.JarOutputStream;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(120)
class PointsmanTest {
  private static final Map<String, List<String>> HEADERS =
      Map.of("X-Session-ID", List.of("s-1"), "content-type", List.of("application/json"));

  private static SimEngine engine() {
    return SimEngine.start(SimConfig.instant().withModels("m"));
  }

  private static void awaitHealthy(Fleet fleet) {
    Await.until(
        "all healthy",
        () -> fleet.snapshot().workers().stream().allMatch(w -> w.health().healthy()));
  }

  @Test
  void theEngineAloneChoosesAndCounts() throws Exception {
    try (SimEngine one = engine();
        SimEngine two = engine();
        EmbeddedEngine engine =
            Pointsman.builder()
                .policy("consistent_hash")
                .set("decide.ttl", "5s")
                .worker(one.url())
                .worker(two.url())
                .startEngine()) {
      awaitHealthy(engine.fleet());
      byte[] body = "{\"model\":\"m\",\"prompt\":\"hello\"}".getBytes(UTF_8);
      RoutingRequest request = engine.read("POST", "/v1/completions", HEADERS, body);

      Choice choice = engine.choices().choose(request, engine.choices().settings().standardTtl());

      Choice.Leased held = (Choice.Leased) choice;
      assertThat(request.observed()).isFalse();
      assertThat(held.expiresInNanos()).isEqualTo(Duration.ofSeconds(5).toNanos());
      assertThat(held.worker().inFlight()).isEqualTo(1);
      assertThat(engine.alternatives().of(request, held.worker(), 1))
          .doesNotContain(held.worker())
          .hasSize(1);
      engine.choices().settle(held.lease(), Outcome.SUCCEEDED, TokenCounts.NONE);
      assertThat(engine.fleet().snapshot().workers()).allMatch(worker -> worker.inFlight() == 0);
    }
  }

  @Test
  void workersWithDifferentModelsRequireAModel() {
    try (EmbeddedEngine engine =
        Pointsman.builder()
            .worker(WorkerSpec.of("http://127.0.0.1:1").withModels(Set.of("a")))
            .worker(WorkerSpec.of("http://127.0.0.1:2").withModels(Set.of("b")))
            .startEngine()) {
      byte[] unnamed = "{\"prompt\":\"hello\"}".getBytes(UTF_8);
      byte[] named = "{\"model\":\"b\",\"prompt\":\"hello\"}".getBytes(UTF_8);

      assertThatThrownBy(() -> engine.read("POST", "/v1/completions", HEADERS, unnamed))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessage("model: missing (expected: one of a, b)");
      assertThat(engine.read("POST", "/v1/completions", HEADERS, named).model()).isEqualTo("b");
    }
  }

  @Test
  void anEngineThatCannotStartLeavesNothingOpen(@TempDir Path plugins) throws Exception {
    Path open = Path.of("/proc/self/fd");
    assumeThat(Files.isDirectory(open)).as("files that this process has open").isTrue();
    Path jar = plugins.resolve("policies.jar");
    try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(jar))) {
      out.putNextEntry(new ZipEntry("nothing"));
    }
    Pointsman.Builder builder =
        Pointsman.builder()
            .set("plugins.directory", plugins.toString())
            .policy("com.example.NotThere");

    assertThatThrownBy(builder::startEngine)
        .isInstanceOf(StartException.class)
        .hasMessageContaining("com.example.NotThere");

    try (Stream<Path> files = Files.list(open)) {
      assertThat(files.map(PointsmanTest::target)).doesNotContain(jar.toRealPath().toString());
    }
  }

  private static String target(Path link) {
    try {
      return Files.readSymbolicLink(link).toString();
    } catch (IOException e) {
      return ""; // closed in the meantime
    }
  }

  @Test
  void abandonedLeasesExpireByThemselves() throws Exception {
    try (SimEngine one = engine();
        EmbeddedEngine engine = Pointsman.builder().worker(one.url()).startEngine()) {
      awaitHealthy(engine.fleet());
      RoutingRequest request = RoutingRequest.builder().build();
      engine.choices().choose(request, Duration.ofMillis(1));
      Worker worker = engine.fleet().snapshot().workers().getFirst();

      Await.until("the lease expired", () -> engine.choices().tally().expired() == 1);
      assertThat(worker.inFlight()).isZero();
    }
  }

  @Test
  void twoWorkersAreChosenForASplitRequest() throws Exception {
    try (SimEngine one = engine();
        SimEngine other = engine();
        EmbeddedEngine engine =
            Pointsman.builder().set("disaggregation.protocol", "nixl").startEngine()) {
      engine.fleet().add(WorkerSpec.of(one.url()).withRole(Role.PREFILL));
      engine.fleet().add(WorkerSpec.of(other.url()).withRole(Role.DECODE));
      awaitHealthy(engine.fleet());
      Await.until(
          "all models known",
          () -> engine.fleet().snapshot().workers().stream().noneMatch(w -> w.models().isEmpty()));
      byte[] body = "{\"model\":\"m\",\"prompt\":\"a prompt\"}".getBytes(UTF_8);
      SplitChoices choices = requireNonNull(engine.splitChoices());

      SplitChoice choice =
          choices.choose(
              engine.readForTwo("POST", "/v1/completions", HEADERS, body, "id-1"),
              Duration.ofSeconds(5));

      SplitChoice.Two two = (SplitChoice.Two) choice;
      String lease = requireNonNull(two.lease());
      assertThat(two.prefill().spec().url()).isEqualTo(one.url());
      assertThat(two.decode().spec().url()).isEqualTo(other.url());
      engine.choices().prefilled(lease, Outcome.SUCCEEDED);
      engine.choices().settle(lease, Outcome.SUCCEEDED, TokenCounts.NONE);
      assertThat(engine.fleet().snapshot().workers()).allMatch(worker -> worker.inFlight() == 0);
    }
    try (EmbeddedEngine whole = Pointsman.builder().startEngine()) {
      assertThat(whole.splitChoices()).isNull();
    }
  }

  @Test
  void theWholeRouterServes() throws Exception {
    try (SimEngine one = engine();
        Router router =
            Pointsman.builder()
                .set("listen.port", "0")
                .set("metrics.enabled", "false")
                .worker(one.url())
                .startRouter();
        HttpClient http = HttpClient.newHttpClient()) {
      awaitHealthy(router.fleet());
      HttpResponse<String> answer =
          http.send(
              HttpRequest.newBuilder(URI.create(router.url() + "/v1/models")).build(),
              HttpResponse.BodyHandlers.ofString());
      assertThat(answer.statusCode()).isEqualTo(200);
      assertThat(answer.body()).contains("\"m\"");
    }
  }

  @Test
  void invalidValuesAreReportedWithTheirKey() {
    Pointsman.Builder builder = Pointsman.builder();

    assertThatThrownBy(() -> builder.set("cache.treshold", "1"))
        .hasMessageContaining("cache.treshold: unknown key (did you mean cache.threshold?)");
    assertThatThrownBy(() -> builder.set("cache.threshold", "2"))
        .hasMessageContaining("cache.threshold: 2 (expected:");
    assertThatThrownBy(() -> builder.set("stall.most", "2m"))
        .hasMessage("stall.most: former name (expected: stall.max-patience)");
    assertThatThrownBy(() -> builder.worker("ftp://a")).hasMessageContaining("url: ftp://a");
    assertThatThrownBy(() -> builder.policy("com.example.Nobody").startEngine())
        .isInstanceOf(StartException.class)
        .hasMessageContaining("com.example.Nobody: no such class");
  }

  @Test
  void anInvalidBodyIsRefusedForTheClient() {
    try (EmbeddedEngine engine = Pointsman.builder().startEngine()) {
      assertThatThrownBy(
              () -> engine.read("POST", "/v1/completions", HEADERS, "[]".getBytes(UTF_8)))
          .hasMessage("request body: not an object (expected: a JSON object)");
    }
  }
}

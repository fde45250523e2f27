package io.pointsman.server.cli;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pointsman.config.ConfigValues;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.YamlConfig;
import io.pointsman.engine.fleet.FleetListener;
import io.pointsman.engine.fleet.FleetSnapshot;
import io.pointsman.observe.logging.LogSetup;
import io.pointsman.server.wiring.Router;
import io.pointsman.testkit.Await;
import io.pointsman.testkit.engine.Faults;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

/** A part of the router throws after the parts before it are in force. */
@Timeout(120)
class FailedReloadTest {
  @TempDir Path directory;
  private final HttpClient http = HttpClient.newHttpClient();

  /**
   * Fails once when a worker leaves or the second one comes; log, policies and settings are then in
   * force.
   */
  private static final class BrokenListener implements FleetListener {
    private volatile @Nullable Throwable failure;

    @Override
    public void changed(FleetSnapshot snapshot) {
      if (snapshot.workers().size() == 1) {
        return;
      }
      Throwable now = failure;
      failure = null;
      if (now instanceof Error error) {
        throw error;
      }
      if (now instanceof RuntimeException exception) {
        throw exception;
      }
    }
  }

  private ConfigValues values(String engines, String policy, String level, String logs) {
    String yaml =
        """
        workers: [%s]
        listen: {port: 0}
        metrics: {port: 0}
        admin: {port: 0}
        health: {first-retry: 10ms}
        policy: %s
        log: {level: %s, directory: '%s'}
        """
            .formatted(engines, policy, level, directory.resolve(logs));
    return YamlConfig.parse("test", yaml);
  }

  private HttpResponse<String> call(String method, String url) throws Exception {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(url))
            .method(method, HttpRequest.BodyPublishers.noBody())
            .build();
    return http.send(request, HttpResponse.BodyHandlers.ofString());
  }

  private String log(String logs) {
    try {
      Path file = directory.resolve(logs).resolve("pointsman.log");
      return Files.exists(file) ? Files.readString(file) : "";
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Test
  void theReasonIsInTheLogAndInTheAnswerAndTheNextReloadWorks() throws Exception {
    LoggerContext context = (LoggerContext) LoggerFactory.getILoggerFactory();
    BrokenListener broken = new BrokenListener();
    try (ScriptedEngine engine = ScriptedEngine.start(new Faults.Healthy("m", Faults.Answer.ok()));
        ScriptedEngine second = ScriptedEngine.start(new Faults.Healthy("m", Faults.Answer.ok()))) {
      String both = "{url: '" + engine.url() + "', labels: {zone: b}}, " + second.url();
      ConfigValues first = values(engine.url(), "round_robin", "info", "a");
      AtomicReference<ConfigValues> source =
          new AtomicReference<>(values(both, "random", "warn", "b"));
      try (LogSetup written = LogSetup.start(PointsmanConfig.from(first).log());
          Router router = Router.start(PointsmanConfig.from(first), "test")) {
        Reload reload = new Reload(first, (Supplier<ConfigValues>) source::get, router, written);
        router.onReload(reload::run);
        router.fleet().listen(broken);
        for (Throwable failure :
            new Throwable[] {new NullPointerException("one"), new NoClassDefFoundError("two")}) {
          broken.failure = failure;
          JsonNode answer =
              new ObjectMapper()
                  .readTree(call("POST", router.adminUrl() + "/config/reload").body());
          assertThat(answer.path("reloaded").asBoolean()).isFalse();
          String why = answer.path("problems").path(0).asText();
          assertThat(why).startsWith("workers: ").endsWith(failure.toString());
          Await.until(
              () -> log("a"),
              () ->
                  log("a")
                      .contains(
                          "configuration not reloaded, the previous one stays active: " + why));
          assertThat(context.getLogger(Logger.ROOT_LOGGER_NAME).getLevel()).isEqualTo(Level.INFO);
          assertThat(page(router)).contains("\"policy\":\"round_robin\"");
          assertThat(router.fleet().snapshot().workers()).hasSize(1);
          assertThat(reason(router)).isNotEmpty().isNotEqualTo("random");
        }
        JsonNode answer =
            new ObjectMapper().readTree(call("POST", router.adminUrl() + "/config/reload").body());
        assertThat(answer.path("reloaded").asBoolean()).as(answer.toString()).isTrue();
        assertThat(page(router)).contains("\"policy\":\"random\"");
        assertThat(reason(router)).isEqualTo("random");
        assertThat(context.getLogger(Logger.ROOT_LOGGER_NAME).getLevel()).isEqualTo(Level.WARN);
      }
    } finally {
      http.shutdownNow();
    }
  }

  /** The reason of a decision by the policy in force. */
  private String reason(Router router) throws Exception {
    Await.until(
        "healthy",
        () ->
            router.fleet().snapshot().workers().stream()
                .anyMatch(worker -> worker.health().healthy() && !worker.models().isEmpty()));
    String question =
        "{\"path\":\"/v1/chat/completions\",\"reserve\":false,"
            + "\"body\":{\"model\":\"m\",\"messages\":[]}}";
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(router.adminUrl() + "/v1/decide"))
            .POST(HttpRequest.BodyPublishers.ofString(question))
            .build();
    HttpResponse<String> answer = http.send(request, HttpResponse.BodyHandlers.ofString());
    assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
    return new ObjectMapper().readTree(answer.body()).at("/explanation/reason").asText();
  }

  private String page(Router router) throws Exception {
    return call("GET", router.adminUrl() + "/activity").body();
  }
}

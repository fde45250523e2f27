package io.pointsman.server.wiring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.config.ConfigValues;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.key.FrontKeys;
import io.pointsman.config.key.OperationKeys;
import io.pointsman.config.key.RoutingKeys;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.engine.policy.Policy;
import io.pointsman.engine.policy.catalog.PolicyParts;
import io.pointsman.engine.policy.catalog.PolicySettings;
import io.pointsman.engine.policy.catalog.PolicySetup;
import io.pointsman.testkit.Await;
import io.pointsman.tool.sim.SimConfig;
import io.pointsman.tool.sim.SimEngine;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Timeout(120)
class PolicyClassesTest {
  /** The policy of docs/plug-ins.md: the worker with the last id serves. */
  private static final String LAST_ID =
      """
      package com.example;

      import io.pointsman.engine.fleet.*;
      import io.pointsman.engine.policy.*;
      import io.pointsman.engine.policy.catalog.PolicyParts;

      public final class LastIdPolicy implements Policy {
        private final PolicyParts parts;

        public LastIdPolicy(PolicyParts parts) {
          this.parts = parts;
        }

        @Override
        public Picker picker(Pool pool) {
          return (request, now) -> {
            Worker last = null;
            for (Worker worker : pool.workers()) {
              boolean later = last == null || worker.id().compareTo(last.id()) > 0;
              if (later && request.admits(worker, now)) {
                last = worker;
              }
            }
            request.picked(PickResult.of(PickReason.HASH));
            return last;
          };
        }
      }
      """;

  private static final PolicyParts PARTS =
      new PolicyParts(
          () -> 0, bound -> 0, FleetSettings.DEFAULTS.maxWorkers(), PolicySettings.DEFAULTS);

  @TempDir Path directory;
  private final Deque<AutoCloseable> opened = new ArrayDeque<>();

  @AfterEach
  void closeAll() throws Exception {
    while (!opened.isEmpty()) {
      opened.pop().close();
    }
  }

  private PolicySetup create(String name, String plugins) {
    return new PolicyClasses(plugins, opened).create(name, PARTS);
  }

  @Test
  void aPolicyFromAJarServesRequests() throws Exception {
    PluginJars.write(directory, "LastIdPolicy", LAST_ID);
    SimEngine first = SimEngine.start(SimConfig.instant().withModels("m"));
    opened.push(first);
    SimEngine second = SimEngine.start(SimConfig.instant().withModels("m"));
    opened.push(second);
    String last =
        WorkerSpec.idOf(first.url().compareTo(second.url()) > 0 ? first.url() : second.url());
    ConfigValues values =
        new ConfigValues()
            .set(FrontKeys.PORT, 0)
            .set(OperationKeys.METRICS_PORT, 0)
            .set(RoutingKeys.POLICY, "com.example.LastIdPolicy")
            .set(RoutingKeys.PLUGIN_DIRECTORY, directory.toString())
            .set(
                RoutingKeys.WORKERS,
                List.of(WorkerSpec.of(first.url()), WorkerSpec.of(second.url())));
    Router router = Router.start(PointsmanConfig.from(values), "test");
    opened.push(router);
    Await.until(
        "both healthy",
        () -> router.fleet().snapshot().workers().stream().allMatch(w -> w.health().healthy()));
    try (HttpClient http = HttpClient.newHttpClient()) {
      for (int i = 0; i < 10; i++) {
        HttpRequest request =
            HttpRequest.newBuilder(URI.create(router.url() + "/v1/completions"))
                .header("content-type", "application/json")
                .POST(
                    HttpRequest.BodyPublishers.ofString(
                        "{\"model\":\"m\",\"prompt\":\"x\",\"max_tokens\":1}"))
                .build();
        HttpResponse<String> response = http.send(request, HttpResponse.BodyHandlers.ofString());
        assertThat(response.statusCode()).isEqualTo(200);
        assertThat(response.headers().firstValue("x-pointsman-worker")).contains(last);
      }
    }
  }

  @Test
  void aClassOnTheClassPathNeedsNoDirectory() {
    Policy policy = create("io.pointsman.server.wiring.PolicyClassesTest$Plain", "").policy();

    assertThat(policy).isInstanceOf(Plain.class);
    assertThat(create("round_robin", "").policy().getClass().getSimpleName())
        .isEqualTo("RoundRobinPolicy");
  }

  /** A policy that fails to list the fields that it reads. */
  public static final class Undecided implements Policy, io.pointsman.engine.policy.ReadsRequest {
    @Override
    public io.pointsman.engine.policy.Picker picker(io.pointsman.engine.fleet.Pool pool) {
      return (request, now) -> null;
    }

    @Override
    public io.pointsman.engine.policy.WantedFields wanted() {
      throw new IllegalStateException("no idea");
    }
  }

  @Test
  void aPolicyThatFailsToListItsFieldsIsRefused() {
    String name = "io.pointsman.server.wiring.PolicyClassesTest$Undecided";
    assertThatThrownBy(() -> create(name, ""))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("policy: " + name)
        .hasMessageContaining("no idea");
  }

  /** A policy without an explicit constructor. */
  public static final class Plain implements Policy {
    @Override
    public io.pointsman.engine.policy.Picker picker(io.pointsman.engine.fleet.Pool pool) {
      return (request, now) -> pool.isEmpty() ? null : pool.worker(0);
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "com.example.NobodysPolicy|no such class (expected: one on the class path)",
        "java.lang.Object|no io.pointsman.engine.policy.Policy",
        "java.lang.Math|no public constructor with PolicyParts or without parameters",
        "java.lang.Runnable|no public constructor with PolicyParts or without parameters"
      })
  void otherClassesAreRefused(String name, String problem) {
    assertThatThrownBy(() -> create(name, ""))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("policy: " + name)
        .hasMessageContaining(problem);
  }

  @Test
  void anInvalidDirectoryIsRefused() {
    assertThatThrownBy(() -> create("com.example.X", directory.resolve("none").toString()))
        .hasMessageContaining("plugins.directory: ")
        .hasMessageContaining("(expected: a directory that can be read)");
  }
}

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
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.ArrayDeque;
import java.util.ArrayList;
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
    PolicyClasses classes = new PolicyClasses();
    opened.push(classes);
    return classes.of(plugins).create(name, PARTS);
  }

  @Test
  void aPolicyFromAJarServesRequests() throws Exception {
    PluginJars.write(directory, "LastIdPolicy", LAST_ID);
    List<String> ids = engines();
    Router router = started(config("com.example.LastIdPolicy", directory));
    assertThat(serving(router)).containsOnly(ids.getLast());
  }

  private final List<WorkerSpec> workers = new ArrayList<>();

  /** Starts two engines; their ids in order. */
  private List<String> engines() {
    for (int i = 0; i < 2; i++) {
      SimEngine engine = SimEngine.start(SimConfig.instant().withModels("m"));
      opened.push(engine);
      workers.add(WorkerSpec.of(engine.url()));
    }
    return workers.stream().map(WorkerSpec::id).sorted().toList();
  }

  private PointsmanConfig config(String policy, Path plugins) {
    return PointsmanConfig.from(
        new ConfigValues()
            .set(FrontKeys.PORT, 0)
            .set(OperationKeys.METRICS_PORT, 0)
            .set(RoutingKeys.POLICY, policy)
            .set(RoutingKeys.PLUGIN_DIRECTORY, plugins.toString())
            .set(RoutingKeys.WORKERS, workers));
  }

  private Router started(PointsmanConfig config) {
    Router router = Router.start(config, "test");
    opened.push(router);
    Await.until(
        "both healthy",
        () -> router.fleet().snapshot().workers().stream().allMatch(w -> w.health().healthy()));
    return router;
  }

  /** The workers of ten requests. */
  private static List<String> serving(Router router) throws Exception {
    List<String> all = new ArrayList<>();
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
        all.add(response.headers().firstValue("x-pointsman-worker").orElse(""));
      }
    }
    return all;
  }

  @Test
  void policiesOfAnotherDirectoryServeAfterAChange() throws Exception {
    Path other = Files.createDirectories(directory.resolve("other"));
    Path empty = Files.createDirectories(directory.resolve("empty"));
    PluginJars.write(directory, "LastIdPolicy", LAST_ID);
    PluginJars.write(other, "LastIdPolicy", LAST_ID.replace("> 0", "< 0"));
    String name = "com.example.LastIdPolicy";
    List<String> ids = engines();
    PointsmanConfig before = config(name, directory);
    Router router = started(before);
    assertThat(serving(router)).containsOnly(ids.getLast());

    assertThatThrownBy(() -> router.change(before, config(name, empty)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("no such class");
    assertThat(serving(router)).containsOnly(ids.getLast());

    router.change(before, config(name, other));
    assertThat(serving(router)).containsOnly(ids.getFirst());
  }

  @Test
  void theSameJarsHaveOneLoaderAndEarlierOnesClose() throws Exception {
    String name = "com.example.LastIdPolicy";
    PluginJars.write(directory, "LastIdPolicy", LAST_ID);
    Path jar = directory.resolve("LastIdPolicy.jar");
    PolicyClasses classes = new PolicyClasses();
    opened.push(classes);
    PolicyClasses.Of inForce = classes.of(directory.toString());
    Policy first = inForce.create(name, PARTS).policy();
    assertThat(classes.of(directory.toString()).create(name, PARTS).policy()).hasSameClassAs(first);
    assertThat(classes.open()).isEqualTo(1);

    inForce.hold();
    for (int i = 1; i <= 10; i++) {
      Files.setLastModifiedTime(jar, FileTime.fromMillis(1000L * i));
      Policy other = classes.of(directory.toString()).create(name, PARTS).policy();
      assertThat(other.getClass()).isNotSameAs(first.getClass());
    }
    assertThat(classes.open()).isEqualTo(PolicyClasses.MOST_EARLIER + 1);
    String resource = "com/example/LastIdPolicy.class";
    assertThat(first.getClass().getClassLoader().getResource(resource)).as("in force").isNotNull();
    inForce.release();
    Files.setLastModifiedTime(jar, FileTime.fromMillis(0));
    PolicyClasses.Of last = classes.of(directory.toString());
    last.create(name, PARTS);
    assertThat(first.getClass().getClassLoader().getResource(resource)).as("closed").isNull();
  }

  /** A jar is replaced, restored with its time, and then others are tried and refused. */
  @Test
  void classesInForceStayAfterARestoredJarAndRefusedOnes() throws Exception {
    String name = "com.example.LastIdPolicy";
    PluginJars.write(directory, "LastIdPolicy", LAST_ID);
    Path jar = directory.resolve("LastIdPolicy.jar");
    FileTime time = Files.getLastModifiedTime(jar);
    PolicyClasses classes = new PolicyClasses();
    opened.push(classes);
    PolicyClasses.Of first = classes.of(directory.toString());
    ClassLoader original = first.create(name, PARTS).policy().getClass().getClassLoader();
    first.hold();
    PolicyClasses.Of second = classes.of(directory.toString());
    Files.setLastModifiedTime(jar, FileTime.fromMillis(1000));
    ClassLoader shadow = second.create(name, PARTS).policy().getClass().getClassLoader();
    second.hold();

    Files.setLastModifiedTime(jar, time);
    PolicyClasses.Of restored = classes.of(directory.toString());
    assertThat(restored.create(name, PARTS).policy().getClass().getClassLoader())
        .isSameAs(original);
    restored.hold();
    first.release();
    for (int i = 2; i <= 9; i++) {
      Files.setLastModifiedTime(jar, FileTime.fromMillis(1000L * i));
      classes.of(directory.toString()).create(name, PARTS);
    }
    assertThat(classes.open()).isEqualTo(PolicyClasses.MOST_EARLIER + 1);
    String resource = "com/example/LastIdPolicy.class";
    assertThat(original.getResource(resource)).as("policies in force").isNotNull();
    assertThat(shadow.getResource(resource)).as("shadow policy").isNotNull();
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

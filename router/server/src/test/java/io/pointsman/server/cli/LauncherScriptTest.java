package io.pointsman.server.cli;

import static java.nio.file.attribute.PosixFilePermissions.fromString;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.pointsman.testkit.Await;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The script that builds and starts the program, with fake Java and Maven programs that only report
 * their calls.
 */
@Timeout(120)
class LauncherScriptTest {
  /** Writes the build's output; blocks while the file {@code hold} exists. */
  private static final String MAVEN =
      """
      #!/bin/sh
      echo built >>"$POINTSMAN_TEST/builds"
      echo '[INFO] Building Pointsman engine 0.1.0-SNAPSHOT      [2/3]'
      while [ -e "$POINTSMAN_TEST/hold" ]; do sleep 0.02; done
      mkdir -p router/server/target/quick/lib
      """;

  private static final String JAVA =
      """
      #!/bin/sh
      for last; do :; done
      echo "java runs $last"
      echo "locale $LC_ALL" >&2
      """;

  /** Writes its arguments, and the file of the class cache if it is asked for. */
  private static final String RECORDING_JAVA =
      """
      #!/bin/sh
      for each; do
        case $each in
          -XX:AOTCacheOutput=*) echo cache >"${each#*=}"; echo trained >>"$POINTSMAN_TEST/trained"; exit 0 ;;
        esac
      done
      for each; do echo "$each"; done >"$POINTSMAN_TEST/arguments"
      """;

  @TempDir private Path folder;
  private final List<Process> started = new ArrayList<>();
  private Path home = Path.of("");
  private Path java = Path.of("");

  @BeforeEach
  void lay() throws IOException {
    folder = folder.toRealPath();
    home = Files.createDirectories(folder.resolve("tools/a tree"));
    Path script = Path.of(System.getProperty("pointsman.root", ".."), "pointsman");
    Files.copy(script, home.resolve("pointsman"));
    Files.createFile(home.resolve("pom.xml"));
    Files.createDirectories(home.resolve("router/server/src/main"));
    Files.createFile(home.resolve("router/server/pom.xml"));
    java = folder.resolve("java home");
    program(java.resolve("bin/java"), JAVA);
    Files.writeString(java.resolve("release"), "JAVA_VERSION=\"25.0.1\"\n");
    program(folder.resolve("bin/mvn"), MAVEN);
  }

  @AfterEach
  void end() throws Exception {
    Files.deleteIfExists(folder.resolve("hold"));
    for (Process each : started) {
      each.destroyForcibly().waitFor();
    }
  }

  private static void program(Path file, String text) throws IOException {
    Files.createDirectories(file.getParent());
    Files.writeString(file, text);
    Files.setPosixFilePermissions(file, fromString("rwxr-xr-x"));
  }

  private Process start(String script, Map<String, String> environment) throws IOException {
    return start(script, "serve", environment);
  }

  private Process start(String script, String command, Map<String, String> environment)
      throws IOException {
    ProcessBuilder builder = new ProcessBuilder("sh", script, command);
    builder.directory(folder.toFile());
    builder.environment().put("JAVA_HOME", java.toString());
    builder.environment().putAll(environment);
    builder.environment().put("POINTSMAN_TEST", folder.toString());
    builder
        .environment()
        .merge("PATH", folder.resolve("bin").toString(), (path, bin) -> bin + ":" + path);
    int number = started.size();
    builder.redirectOutput(folder.resolve("out" + number).toFile());
    builder.redirectError(folder.resolve("err" + number).toFile());
    Process process = builder.start();
    started.add(process);
    return process;
  }

  private Process start() throws IOException {
    return start(home.resolve("pointsman").toString(), Map.of());
  }

  private static int end(Process process) throws InterruptedException {
    assertThat(process.waitFor(60, TimeUnit.SECONDS)).as("ended").isTrue();
    return process.exitValue();
  }

  private String said(String stream, Process process) throws IOException {
    return Files.readString(folder.resolve(stream + started.indexOf(process)));
  }

  private int builds() throws IOException {
    Path builds = folder.resolve("builds");
    return Files.exists(builds) ? Files.readAllLines(builds).size() : 0;
  }

  private void holdBuilds() throws IOException {
    Files.createFile(folder.resolve("hold"));
  }

  private void awaitSaid(Process process, String words) {
    Await.until(
        words,
        () -> {
          try {
            return said("err", process).contains(words);
          } catch (IOException e) {
            return false;
          }
        });
  }

  private void awaitBuild() {
    Await.until("a build", () -> Files.exists(folder.resolve("builds")));
  }

  @ParameterizedTest
  @CsvSource({"'', ''", "C, ''", "'', de_DE.ISO-8859-1", "POSIX, en_US.UTF-8", "C.UTF-8, C"})
  void javaAlwaysGetsALocaleForUtf8(String all, String lang) throws Exception {
    Map<String, String> locale = Map.of("LC_ALL", all, "LANG", lang, "LC_CTYPE", "");
    Process process = start(home.resolve("pointsman").toString(), locale);
    assertThat(end(process)).as(said("err", process)).isZero();
    assertThat(said("err", process)).contains("locale C.UTF-8");
  }

  @ParameterizedTest
  @CsvSource({
    "300m, 96, 128",
    "512m, 96, 160",
    "1000m, 242, 485",
    "1048576000, 242, 485",
    "2g, 592, 1184",
    "16G, 1024, 2048"
  })
  void memoryOfTheJvmFollowsTheMemoryOfTheProcess(String memory, int heap, int direct)
      throws Exception {
    program(java.resolve("bin/java"), RECORDING_JAVA);
    Process run = start(home.resolve("pointsman").toString(), Map.of("POINTSMAN_MEMORY", memory));
    assertThat(end(run)).as(said("err", run)).isZero();
    assertThat(arguments())
        .contains("-Xmx" + heap + "m", "-XX:MaxDirectMemorySize=" + direct + "m");
  }

  @ParameterizedTest
  @CsvSource({"64m, true", "383m, true", "384m, false", "2g, false"})
  void theRouterLearnsALimitBelowTheLeastMemory(String memory, boolean tooSmall) throws Exception {
    program(java.resolve("bin/java"), RECORDING_JAVA);
    Process run = start(home.resolve("pointsman").toString(), Map.of("POINTSMAN_MEMORY", memory));
    assertThat(end(run)).as(said("err", run)).isZero();
    String property = "-D" + MemoryNote.PROPERTY + "=" + memory.replace("m", "");
    assertThat(arguments().contains(property)).isEqualTo(tooSmall);
    assertThat(arguments().stream().anyMatch(each -> each.contains(MemoryNote.PROPERTY)))
        .isEqualTo(tooSmall);
  }

  @ParameterizedTest
  @ValueSource(strings = {"lots", "512MiB", "m", "1.5g"})
  void memoryThatIsNoSizeIsRefused(String memory) throws Exception {
    Process run = start(home.resolve("pointsman").toString(), Map.of("POINTSMAN_MEMORY", memory));
    assertThat(end(run)).isEqualTo(1);
    assertThat(said("err", run))
        .contains("POINTSMAN_MEMORY: " + memory + " (expected: such as 512m or 2g)");
  }

  private List<String> arguments() throws IOException {
    return Files.readAllLines(folder.resolve("arguments"));
  }

  /** Lays an installation; returns its launcher. */
  private Path install() throws IOException {
    program(java.resolve("bin/java"), RECORDING_JAVA);
    Files.writeString(
        java.resolve("release"), "JAVA_VERSION=\"25.0.1\"\nJAVA_RUNTIME_VERSION=\"25.0.1+8\"\n");
    Path installed = folder.resolve("installed at");
    Files.createDirectories(installed.resolve("lib"));
    for (String jar : List.of("zeta-1", "pointsman-engine-1", "pointsman-server-1", "picocli-4")) {
      Files.createFile(installed.resolve("lib").resolve(jar + ".jar"));
    }
    return Files.copy(home.resolve("pointsman"), installed.resolve("pointsman"));
  }

  @Test
  void anInstallationCachesClassesOnceAndBuildsNothing() throws Exception {
    Path launcher = install();
    Path lib = launcher.resolveSibling("lib");
    for (int i = 0; i < 2; i++) {
      Process run = start(launcher.toString(), Map.of());
      assertThat(end(run)).as(said("err", run)).isZero();
      assertThat(said("err", run).contains("caches classes")).isEqualTo(i == 0);
    }
    assertThat(builds()).isZero();
    assertThat(Files.readAllLines(folder.resolve("trained"))).hasSize(1);
    Path cache = lib.resolve("pointsman-25.0.1+8.aot");
    assertThat(cache).hasContent("cache");
    assertThat(arguments())
        .contains("-XX:AOTCache=" + cache, "io.pointsman.server.cli.Main", "serve")
        .contains(
            Stream.of("pointsman-server-1", "pointsman-engine-1", "picocli-4", "zeta-1")
                .map(jar -> lib.resolve(jar + ".jar").toString())
                .collect(Collectors.joining(":")));
  }

  @Test
  void anotherJavaGetsItsOwnCache() throws Exception {
    Path launcher = install();
    end(start(launcher.toString(), Map.of()));
    Files.writeString(
        java.resolve("release"), "JAVA_VERSION=\"26\"\nJAVA_RUNTIME_VERSION=\"26+1\"\n");
    end(start(launcher.toString(), Map.of()));
    assertThat(launcher.resolveSibling("lib").resolve("pointsman-26+1.aot")).exists();
  }

  @Test
  void commandsThatStartNoRouterCacheNothing() throws Exception {
    Path launcher = install();
    assertThat(end(start(launcher.toString(), "check-config", Map.of()))).isZero();
    assertThat(folder.resolve("trained")).doesNotExist();
  }

  @Test
  void toolsAreNotInAnInstallation() throws Exception {
    Path launcher = install();
    for (String command : List.of("demo", "bench")) {
      Process run = start(launcher.toString(), command, Map.of());
      assertThat(end(run)).isEqualTo(1);
      assertThat(said("err", run))
          .isEqualTo(
              "pointsman: "
                  + command
                  + ": not in this package (expected: a checkout of the source)\n");
    }
  }

  @Test
  void itBuildsOnceAndThenOnlyStarts() throws Exception {
    for (int i = 0; i < 2; i++) {
      Process run = start();
      assertThat(end(run)).as(said("err", run)).isZero();
      assertThat(said("out", run)).isEqualTo("java runs serve\n");
    }
    assertThat(builds()).isEqualTo(1);
  }

  @Test
  void eachModuleIsNamedWhenItBegins() throws Exception {
    holdBuilds();
    Process run = start();
    awaitSaid(run, "pointsman:   engine [2/3]\n");
    Files.delete(folder.resolve("hold"));
    assertThat(end(run)).isZero();
  }

  @Test
  void itBuildsAfterAChange() throws Exception {
    end(start());
    Path source = Files.createFile(home.resolve("router/server/src/main/Main.java"));
    Files.setLastModifiedTime(source, FileTime.from(Instant.now().plusSeconds(60)));
    end(start());
    assertThat(builds()).isEqualTo(2);
  }

  @Test
  void aSecondStartReportsTheBuildAndWaits() throws Exception {
    holdBuilds();
    Process first = start();
    awaitBuild();
    Process second = start();
    awaitSaid(second, "another start builds in ");
    Files.delete(folder.resolve("hold"));
    assertThat(end(first)).isZero();
    assertThat(end(second)).isZero();
    assertThat(said("out", second)).isEqualTo("java runs serve\n");
    assertThat(builds()).isEqualTo(1);
  }

  /** The situation on macOS. */
  @Test
  void itWaitsWithoutFlockToo() throws Exception {
    assumeThat(program("perl")).isNotNull();
    Map<String, String> environment = withOnly("perl");
    holdBuilds();
    Process first = start(home.resolve("pointsman").toString(), environment);
    awaitBuild();
    Process second = start(home.resolve("pointsman").toString(), environment);
    awaitSaid(second, "another start builds in ");
    Files.delete(folder.resolve("hold"));
    assertThat(end(first)).isZero();
    assertThat(end(second)).isZero();
    assertThat(said("err", first)).doesNotContain("waiting");
    assertThat(builds()).isEqualTo(1);
  }

  @Test
  void itBuildsWithoutALockingProgram() throws Exception {
    Process run = start(home.resolve("pointsman").toString(), withOnly());
    assertThat(end(run)).as(said("err", run)).isZero();
    assertThat(said("out", run)).isEqualTo("java runs serve\n");
    assertThat(builds()).isEqualTo(1);
  }

  /** An environment with only the programs that the launcher needs, and {@code more}. */
  private Map<String, String> withOnly(String... more) throws IOException {
    Path few = Files.createDirectories(folder.resolve("few"));
    List<String> names =
        List.of(
            "cat", "dirname", "find", "head", "mkdir", "mkfifo", "mv", "rm", "sed", "sh", "sleep");
    for (String name : Stream.concat(names.stream(), Stream.of(more)).toList()) {
      Path program = program(name);
      if (program == null) {
        throw new IllegalStateException(name + ": not on the PATH");
      }
      Files.createSymbolicLink(few.resolve(name), program);
    }
    return Map.of("PATH", few.toString());
  }

  private static @Nullable Path program(String name) {
    for (String directory : System.getenv("PATH").split(File.pathSeparator, -1)) {
      Path program = Path.of(directory, name);
      if (Files.isExecutable(program)) {
        return program;
      }
    }
    return null;
  }

  @Test
  void aKilledBuildDoesNotBlockLaterStarts() throws Exception {
    holdBuilds();
    Process killed = start();
    awaitBuild();
    try (Stream<ProcessHandle> maven = killed.descendants()) {
      List<ProcessHandle> all = maven.toList();
      killed.destroyForcibly().waitFor();
      all.forEach(ProcessHandle::destroyForcibly);
    }
    Files.delete(folder.resolve("hold"));
    assertThat(end(start())).isZero();
    assertThat(builds()).isEqualTo(2);
  }

  @Test
  void aReadOnlyTreeIsReportedAtOnce() throws Exception {
    Files.createDirectories(home.resolve("target/building.lock"));
    Process run = start();
    assertThat(end(run)).isEqualTo(1);
    assertThat(said("err", run))
        .startsWith("pointsman: not built")
        .contains("building.lock cannot be written (expected: ");
    assertThat(builds()).isZero();
  }

  @Test
  void aSignalEndsABuildAtOnce() throws Exception {
    holdBuilds();
    Process run = start();
    awaitBuild();
    List<ProcessHandle> below = run.descendants().toList();
    run.destroy();
    assertThat(end(run)).isEqualTo(143);
    Await.until("Maven has ended", () -> below.stream().noneMatch(ProcessHandle::isAlive));
  }

  @Test
  void aBuildThatFailsIsShown() throws Exception {
    program(
        folder.resolve("bin/mvn"),
        "#!/bin/sh\necho '[INFO] so far'\necho 'no such symbol'\nexit 1\n");
    Process run = start();
    assertThat(end(run)).isEqualTo(1);
    assertThat(said("err", run))
        .contains("no such symbol\npointsman: the build failed")
        .doesNotContain("so far");
  }

  @Test
  void directoriesToSearchDoNotLeadElsewhere() throws Exception {
    Files.createDirectories(folder.resolve("elsewhere/tools/a tree"));
    String elsewhere = folder.resolve("elsewhere").toString();
    Process run = start("tools/a tree/pointsman", Map.of("CDPATH", elsewhere));
    assertThat(end(run)).as(said("err", run)).isZero();
    assertThat(home.resolve("router/server/target/quick/build.stamp")).exists();
  }

  @Test
  void aJavaWithoutAVersionInItsReleaseFileIsAsked() throws Exception {
    Files.writeString(java.resolve("release"), "IMPLEMENTOR=x\nJAVA_VERSION=25\n");
    program(java.resolve("bin/java"), "#!/bin/sh\necho 'x version \"25.0.1\" y' >&2\n");
    assertThat(end(start())).isZero();
  }

  @Test
  void aJavaThatAScriptRunsIsFound() throws Exception {
    String shim = "#!/bin/sh\necho '    java.home = " + java + "' >&2\n";
    program(folder.resolve("bin/java"), shim);
    Process run =
        start(home.resolve("pointsman").toString(), Map.of("JAVA_HOME", folder + "/none"));
    assertThat(end(run)).as(said("err", run)).isZero();
    assertThat(said("out", run)).isEqualTo("java runs serve\n");
  }
}

package io.pointsman.it.support;

import java.io.File;
import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntSupplier;
import java.util.jar.JarOutputStream;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;

/**
 * The router as a separate process, with the launcher's memory settings, assertions, and leak
 * detection for each Netty buffer. Its output must show no defect at the end.
 */
public final class RouterProcess implements AutoCloseable {
  private static final String MAIN = "io.pointsman.server.cli.Main";

  /** The launcher's options that affect memory and class loading. */
  private static final List<String> LIKE_THE_LAUNCHER =
      List.of(
          "-XX:+UseSerialGC",
          "-Xms48m",
          "-XX:SurvivorRatio=2",
          "-XX:MaxDirectMemorySize=2g",
          "-XX:+UseCompactObjectHeaders",
          "-XX:ReservedCodeCacheSize=64m",
          "-XX:SweeperThreshold=60",
          "--enable-native-access=ALL-UNNAMED",
          "--sun-misc-unsafe-memory-access=allow");

  /** The detector follows every buffer. It records no stack for each access to one. */
  private static final List<String> WATCHED =
      List.of(
          "-ea",
          "-Dio.netty.leakDetection.level=paranoid",
          "-Dio.netty.leakDetection.acquireAndReleaseOnly=true");

  private static final List<String> DEFECTS =
      List.of("LEAK: ", "java.lang.AssertionError", "IllegalReferenceCountException");

  /** Tolerance for threads and descriptors opened in the meantime. */
  private static final int MORE = 12;

  /** One to the client and one to the engine. */
  private static final int DESCRIPTORS_OF_A_STREAM = 2;

  private static final Pattern METRICS = Pattern.compile("metrics on http://\\S+:(\\d+)");

  private static final Pattern ALL_HEALTHY =
      Pattern.compile("\"healthy_workers\":(\\d+),\"total_workers\":\\1\\b");

  private static final Pattern GREETING = Pattern.compile("listens on http://\\S+:(\\d+)");

  /** Its bit in a set of signals. */
  private static final long SIGHUP = 1;

  private static final Duration START_LIMIT = Duration.ofSeconds(60);

  private final Process process;
  private final Path log;
  private int port;
  private int threadsAtFirst;
  private int descriptorsAtFirst;

  private RouterProcess(Process process, Path log) {
    this.process = process;
    this.log = log;
  }

  /** Starts {@code serve} in front of {@code workers} and waits until all of them are healthy. */
  public static RouterProcess serve(List<String> workers, String... flags) throws IOException {
    List<String> all = new ArrayList<>(List.of("--workers", String.join(",", workers)));
    all.addAll(List.of(flags));
    return start(all.toArray(String[]::new));
  }

  /**
   * Starts {@code serve} with these flags and free ports, and waits until all workers are healthy.
   */
  public static RouterProcess start(String... flags) throws IOException {
    return startAs("serve", flags);
  }

  /** Starts another command for a router, and waits until all workers are healthy. */
  public static RouterProcess startAs(String name, String... flags) throws IOException {
    return launch(List.of(), System.getProperty("java.class.path"), name, 0, flags);
  }

  /** Starts the router with compiled classes that replace or extend its own. */
  public static RouterProcess startWith(Path classes, String... flags) throws IOException {
    String path = classes + File.pathSeparator + System.getProperty("java.class.path");
    return launch(List.of(), path, "serve", 0, flags);
  }

  /** Starts the router on the given port, which an earlier router may have used. */
  public static RouterProcess startAt(int port, String... flags) throws IOException {
    return launch(List.of(), System.getProperty("java.class.path"), "serve", port, flags);
  }

  /**
   * Starts the router from jars, as shipped. Classes in directories would take a descriptor each
   * time one is loaded.
   *
   * @param jars an empty directory for the jars
   * @param descriptors limit of open descriptors from the start; io_uring uses the limit at the
   *     time when an operation was posted
   */
  public static RouterProcess startFromJars(Path jars, int descriptors, String... flags)
      throws IOException {
    List<String> path = new ArrayList<>();
    for (String entry : System.getProperty("java.class.path").split(File.pathSeparator, -1)) {
      if (entry.isEmpty()) {
        continue; // It stands for the working directory, where files come and go.
      }
      Path directory = Path.of(entry);
      path.add(
          Files.isDirectory(directory)
              ? pack(directory, jars.resolve(path.size() + ".jar")).toString()
              : entry);
    }
    List<String> limited = List.of("prlimit", "--nofile=" + descriptors + ":" + descriptors);
    return launch(limited, String.join(File.pathSeparator, path), "serve", 0, flags);
  }

  private static Path pack(Path directory, Path jar) throws IOException {
    try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(jar));
        Stream<Path> files = Files.walk(directory)) {
      for (Path file : files.filter(Files::isRegularFile).toList()) {
        out.putNextEntry(new ZipEntry(directory.relativize(file).toString()));
        Files.copy(file, out);
      }
    }
    return jar;
  }

  private static RouterProcess launch(
      List<String> prefix, String classPath, String name, int port, String... flags)
      throws IOException {
    List<String> command = new ArrayList<>(heedingHangUps());
    command.addAll(prefix);
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(LIKE_THE_LAUNCHER);
    command.addAll(WATCHED);
    command.addAll(List.of("-cp", classPath, MAIN, name));
    command.addAll(List.of("--port", Integer.toString(port), "--metrics-port", "0"));
    if (!List.of(flags).contains("--admin-port")) {
      // Some launchers listen on all addresses.
      command.addAll(List.of("--admin-port", "0", "--admin-on-client-port", "true"));
      command.addAll(List.of("--insecure-admin", "true"));
    }
    command.addAll(List.of(flags));
    Path log = Files.createTempFile("pointsman-router", ".log");
    ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
    RouterProcess router = new RouterProcess(builder.redirectOutput(log.toFile()).start(), log);
    try {
      WaitFor.until(router::output, START_LIMIT, router::ready);
    } catch (AssertionError e) {
      router.process.destroyForcibly();
      throw e;
    }
    router.threadsAtFirst = router.threads();
    router.descriptorsAtFirst = router.descriptors();
    return router;
  }

  /**
   * The beginning of a command line. Its process does not ignore SIGHUP. Under {@code nohup} this
   * process ignores it, and so would every process that it starts.
   */
  public static List<String> heedingHangUps() throws IOException {
    for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
      if (line.startsWith("SigIgn:")
          && (Long.parseUnsignedLong(line.substring(7).strip(), 16) & SIGHUP) != 0) {
        return List.of("env", "--default-signal=HUP");
      }
    }
    return List.of();
  }

  private boolean ready() {
    if (!process.isAlive()) {
      throw new AssertionError("the router ended: " + output());
    }
    Matcher greeting = GREETING.matcher(output());
    if (!greeting.find()) {
      return false;
    }
    port = Integer.parseInt(greeting.group(1));
    try {
      HttpAnswer answer = RawClient.call(port, "GET", "/readiness", "");
      return answer.status() == 200 && ALL_HEALTHY.matcher(answer.text()).find();
    } catch (IOException e) {
      return false;
    }
  }

  /** The output and log of the process. */
  public String output() {
    try {
      return Files.readString(log);
    } catch (IOException e) {
      return e.toString();
    }
  }

  public int port() {
    return port;
  }

  /** Waits until the router reports another port for clients, and uses it from here on. */
  public void awaitMove() {
    int before = port;
    WaitFor.until(
        () -> "another port than " + before + " in: " + output(),
        WaitFor.LONG,
        () -> lastPort() != before);
    port = lastPort();
  }

  private int lastPort() {
    return GREETING
        .matcher(output())
        .results()
        .map(found -> Integer.parseInt(found.group(1)))
        .reduce((_, last) -> last)
        .orElseThrow();
  }

  public boolean isAlive() {
    return process.isAlive();
  }

  /** Makes it reload its configuration (SIGHUP). */
  public void hangUp() throws IOException, InterruptedException {
    signal("HUP");
  }

  /** Stops the process (SIGSTOP) or lets it continue. */
  public void freeze(boolean frozen) throws IOException, InterruptedException {
    signal(frozen ? "STOP" : "CONT");
  }

  /** Kills the process (SIGKILL). */
  public void kill() {
    process.destroyForcibly();
    awaitExit();
  }

  /** Makes every write to a file fail, or succeed again. */
  public void failFileWrites(boolean fail) throws IOException, InterruptedException {
    run("prlimit", "--pid", "" + process.pid(), "--fsize=" + (fail ? 0 : "unlimited") + ":");
  }

  /** By the shell, which every system has: not all have the program. */
  private void signal(String name) throws IOException, InterruptedException {
    run("sh", "-c", "kill -" + name + " " + process.pid());
  }

  private static void run(String... command) throws IOException, InterruptedException {
    await(new ProcessBuilder(command).inheritIO(), command);
  }

  private static void runSilently(String... command) throws IOException, InterruptedException {
    await(new ProcessBuilder(command).redirectOutput(Redirect.DISCARD), command);
  }

  private static void await(ProcessBuilder builder, String... command)
      throws IOException, InterruptedException {
    int code = builder.start().waitFor();
    if (code != 0) {
      throw new IOException(String.join(" ", command) + ": " + code + " (expected: 0)");
    }
  }

  /** Number of open file descriptors. */
  public int descriptors() {
    return openNumbers().length;
  }

  /** True if the process has this file open. */
  public boolean hasOpen(Path file) {
    return Stream.of(openNumbers()).anyMatch(number -> isOf(number, file));
  }

  private String[] openNumbers() {
    String[] open = new File("/proc/" + process.pid() + "/fd").list();
    return open == null ? new String[0] : open;
  }

  private boolean isOf(String number, Path file) {
    try {
      return Files.readSymbolicLink(Path.of("/proc", "" + process.pid(), "fd", number))
          .equals(file);
    } catch (IOException e) {
      return false; // closed in the meantime
    }
  }

  private int threads() {
    String[] tasks = new File("/proc/" + process.pid() + "/task").list();
    return tasks == null ? 0 : tasks.length;
  }

  private double inFlight() {
    return metric("pointsman_requests_in_flight");
  }

  /** A metric by its name with labels; -1 if the router does not respond. */
  public double metric(String series) {
    Matcher metrics = METRICS.matcher(output());
    String last = "";
    while (metrics.find()) {
      last = metrics.group(1); // A reload can move it.
    }
    if (last.isEmpty()) {
      throw new AssertionError("metrics: no address in: " + output());
    }
    String name = series + " ";
    try {
      return RawClient.call(Integer.parseInt(last), "GET", "/metrics", "")
          .text()
          .lines()
          .filter(line -> line.startsWith(name))
          .mapToDouble(line -> Double.parseDouble(line.substring(name.length())))
          .findFirst()
          .orElseThrow(() -> new AssertionError(name + ": missing"));
    } catch (IOException e) {
      return -1; // possibly no descriptor for the connection
    }
  }

  /**
   * Waits until nothing is left of the requests: nothing in flight, threads and descriptors as at
   * the start, within the tolerance. Then checks for lost buffers.
   */
  public void verify() throws IOException, InterruptedException {
    awaitLeft(0);
    for (int i = 0; i < 2; i++) {
      collectGarbage();
      // Netty checks for lost buffers when it allocates new ones.
      RawClient.call(port, "GET", "/readiness", "");
    }
    verifyOutput();
  }

  /**
   * The same check while the router drains and accepts no requests. Only the given streams may be
   * left; their events allocate the new buffers.
   *
   * @param betweenEventsMillis maximum time between events of a stream
   */
  public void verifyBeside(int streams, int betweenEventsMillis)
      throws IOException, InterruptedException {
    awaitLeft(streams);
    for (int i = 0; i < 2; i++) {
      collectGarbage();
      WaitFor.pause(2L * betweenEventsMillis);
    }
    verifyOutput();
  }

  /** Waits until no more is held than at the start, plus the resources of this many streams. */
  private void awaitLeft(int streams) {
    WaitFor.until(() -> "in flight: " + inFlight(), WaitFor.LONG, () -> inFlight() == streams);
    int held = descriptorsAtFirst + DESCRIPTORS_OF_A_STREAM * streams;
    awaitAtMost("descriptors", this::descriptors, held + MORE);
    awaitAtMost("threads", this::threads, threadsAtFirst + MORE);
  }

  private void collectGarbage() throws IOException, InterruptedException {
    Path jcmd = Path.of(System.getProperty("java.home"), "bin", "jcmd");
    // The options make a JVM of a moment start with less CPU time.
    runSilently(
        jcmd.toString(),
        "-J-XX:+UseSerialGC",
        "-J-XX:TieredStopAtLevel=1",
        "" + process.pid(),
        "GC.run");
  }

  private static void awaitAtMost(String what, IntSupplier count, int most) {
    WaitFor.until(
        () -> what + ": " + count.getAsInt() + " (expected: at most " + most + ")",
        WaitFor.LONG,
        () -> count.getAsInt() <= most);
  }

  private void verifyOutput() {
    String output = output();
    for (String defect : DEFECTS) {
      int at = output.indexOf(defect);
      if (at >= 0) {
        String shown = output.substring(at, Math.min(output.length(), at + 2000));
        throw new AssertionError("the router wrote: " + shown + " (expected: no sign of a defect)");
      }
    }
  }

  /** Processor time used by the process, in seconds. */
  public double cpuSeconds() {
    return process.info().totalCpuDuration().orElseThrow().toNanos() / 1e9;
  }

  /** Waits until the output contains this text. */
  public void awaitOutput(String text) {
    WaitFor.until(
        () -> "'" + text + "' in: " + output(), WaitFor.LONG, () -> output().contains(text));
  }

  /** Makes the process stop (SIGTERM). */
  public void terminate() {
    process.destroy();
  }

  /**
   * Waits for the end of the process.
   *
   * @return the exit code
   */
  public int awaitExit() {
    WaitFor.until("the router ends", WaitFor.LONG, () -> !process.isAlive());
    return process.exitValue();
  }

  /** Resident memory in KB. */
  public long residentKb() throws IOException {
    for (String line : Files.readAllLines(Path.of("/proc", "" + process.pid(), "status"))) {
      if (line.startsWith("VmRSS:")) {
        return Long.parseLong(line.replaceAll("[^0-9]", ""));
      }
    }
    throw new IOException("VmRSS: missing (expected: Linux)");
  }

  @Override
  public void close() throws IOException {
    process.destroyForcibly();
    try {
      verifyOutput();
    } finally {
      Files.deleteIfExists(log);
    }
  }
}

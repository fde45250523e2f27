package io.pointsman.tool.bench.contender;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/** A child process. It and all its descendants end when it is closed or when this JVM exits. */
public final class ChildProcess implements AutoCloseable {
  private static final Set<ChildProcess> RUNNING = ConcurrentHashMap.newKeySet();

  static {
    Runtime.getRuntime()
        .addShutdownHook(new Thread(() -> RUNNING.forEach(ChildProcess::kill), "end-children"));
  }

  private final Process process;

  private ChildProcess(Process process) {
    this.process = process;
    RUNNING.add(this);
  }

  /**
   * Starts a process; its standard output and error go to the file {@code output}.
   *
   * @param environment variables added to those of this JVM
   * @param cores numbers of the permitted cores, for example {@code 0} or {@code 1-3}; empty: all
   */
  public static ChildProcess start(
      List<String> command, Map<String, String> environment, String cores, Path output)
      throws IOException {
    ProcessBuilder builder =
        builder(command, environment, cores)
            .redirectErrorStream(true)
            .redirectOutput(output.toFile());
    return new ChildProcess(builder.start());
  }

  /**
   * Starts a process; the caller reads its standard output, and its standard error goes to the file
   * {@code errors}.
   */
  public static ChildProcess startReadable(List<String> command, String cores, Path errors)
      throws IOException {
    return new ChildProcess(
        builder(command, Map.of(), cores).redirectError(errors.toFile()).start());
  }

  private static ProcessBuilder builder(
      List<String> command, Map<String, String> environment, String cores) {
    List<String> line = new ArrayList<>();
    if (!cores.isEmpty()) {
      line.addAll(List.of("taskset", "-c", cores));
    }
    line.addAll(command);
    ProcessBuilder builder = new ProcessBuilder(line);
    builder.environment().putAll(environment);
    return builder;
  }

  public Process process() {
    return process;
  }

  public ProcessTree tree() {
    return new ProcessTree(process.toHandle());
  }

  private void kill() {
    List<ProcessHandle> descendants = process.descendants().toList();
    process.destroyForcibly();
    descendants.forEach(ProcessHandle::destroyForcibly);
  }

  @Override
  public void close() {
    kill();
    try {
      process.waitFor(10, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    RUNNING.remove(this);
  }
}

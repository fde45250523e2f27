package io.pointsman.bench.contender;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/** A process that ends, with all its descendants, when it is closed or when this program ends. */
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
   * @param cores the numbers of the cores it may use, such as {@code 0} or {@code 1-3}; empty: all
   * @param output where its output and errors go
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

  /** Its output is read by the caller, its errors go to {@code errors}. */
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

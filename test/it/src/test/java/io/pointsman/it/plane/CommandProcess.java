package io.pointsman.it.plane;

import io.pointsman.it.support.RouterProcess;
import io.pointsman.it.support.WaitFor;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A command of the program as a separate process; its output arrives by a pipe. */
final class CommandProcess implements AutoCloseable {
  private static final String MAIN = "io.pointsman.tool.demo.Tools";

  private final Process process;
  private final Queue<String> output = new ConcurrentLinkedQueue<>();

  private CommandProcess(Process process) {
    this.process = process;
    Thread.ofVirtual().name("command-output").start(this::read);
  }

  static CommandProcess start(String... arguments) throws IOException {
    List<String> line = new ArrayList<>(RouterProcess.heedingHangUps());
    line.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    line.addAll(List.of("-XX:+UseSerialGC", "--enable-native-access=ALL-UNNAMED"));
    line.addAll(List.of("--sun-misc-unsafe-memory-access=allow"));
    line.addAll(List.of("-cp", System.getProperty("java.class.path"), MAIN));
    line.addAll(List.of(arguments));
    return new CommandProcess(new ProcessBuilder(line).redirectErrorStream(true).start());
  }

  private void read() {
    byte[] bytes = new byte[4096];
    InputStream in = process.getInputStream();
    try {
      for (int read = in.read(bytes); read >= 0; read = in.read(bytes)) {
        output.add(new String(bytes, 0, read, StandardCharsets.UTF_8));
      }
    } catch (IOException e) {
      output.add("\n" + e);
    }
  }

  /** The output and log of the process. */
  String output() {
    return String.join("", output);
  }

  /**
   * Waits until the output matches.
   *
   * @return the first group
   */
  String await(Pattern printed) {
    Matcher[] found = new Matcher[1];
    WaitFor.until(
        () -> printed + " in: " + output(),
        WaitFor.LONG,
        () -> {
          found[0] = printed.matcher(output());
          if (found[0].find()) {
            return true;
          }
          if (!process.isAlive()) {
            throw new AssertionError("it has ended: " + output());
          }
          return false;
        });
    return found[0].group(1);
  }

  /** All descendant processes. */
  List<ProcessHandle> descendants() {
    return process.descendants().toList();
  }

  /** The command line of a process; empty if it has ended. */
  static String line(ProcessHandle each) {
    try {
      return Files.readString(Path.of("/proc", "" + each.pid(), "cmdline")).replace('\0', ' ');
    } catch (IOException e) {
      return "";
    }
  }

  /** Closes the reading side of its output. */
  void closeOutput() throws IOException {
    process.getInputStream().close();
  }

  /** Makes the process stop (SIGTERM). */
  void terminate() {
    process.destroy();
  }

  /** Sends SIGHUP. */
  void hangUp() throws IOException, InterruptedException {
    String pid = Long.toString(process.pid());
    int code = new ProcessBuilder("kill", "-HUP", pid).start().waitFor();
    if (code != 0) {
      throw new IOException("kill -HUP " + pid + ": " + code);
    }
  }

  /** Kills the process (SIGKILL). */
  void kill() {
    process.destroyForcibly();
  }

  /**
   * Waits for the end of the process.
   *
   * @return the exit code
   */
  int awaitExit() {
    WaitFor.until(() -> "it ends: " + output(), WaitFor.LONG, () -> !process.isAlive());
    return process.exitValue();
  }

  @Override
  public void close() {
    List<ProcessHandle> others = descendants();
    process.destroyForcibly();
    others.forEach(ProcessHandle::destroyForcibly);
  }
}

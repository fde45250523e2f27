package io.pointsman.tool.bench.chaos;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A child process; {@link #close} ends it. */
final class Child implements AutoCloseable {
  private final Process process;
  private final BufferedReader out;

  private Child(Process process) {
    this.process = process;
    out =
        new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
  }

  /** Command that runs a class of this class path with the JVM of this process. */
  static List<String> java(Class<?> main, String... arguments) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(
        List.of(
            "-XX:+UseSerialGC",
            "-Xmx512m",
            "--enable-native-access=ALL-UNNAMED",
            "--sun-misc-unsafe-memory-access=allow",
            "-cp",
            System.getProperty("java.class.path"),
            main.getName()));
    command.addAll(List.of(arguments));
    return command;
  }

  /**
   * Starts a process with piped standard input and output; its standard error goes to the file
   * {@code errors}.
   */
  static Child talking(List<String> command, Path errors) throws IOException {
    return new Child(new ProcessBuilder(command).redirectError(errors.toFile()).start());
  }

  /** Starts a process; its standard output and error go to the file {@code log}. */
  static Child logging(ProcessBuilder builder, Path log) throws IOException {
    return new Child(builder.redirectErrorStream(true).redirectOutput(log.toFile()).start());
  }

  long pid() {
    return process.pid();
  }

  boolean isAlive() {
    return process.isAlive();
  }

  /**
   * Reads the next line of the process's output.
   *
   * @throws IOException if the process has closed its output
   */
  synchronized String line() throws IOException {
    String line = out.readLine();
    if (line == null) {
      throw new IOException("the process " + pid() + " ended");
    }
    return line;
  }

  /** Writes one line to the process's standard input. */
  synchronized void send(String line) throws IOException {
    OutputStream in = process.getOutputStream();
    in.write((line + "\n").getBytes(StandardCharsets.UTF_8));
    in.flush();
  }

  @Override
  public void close() {
    process.destroy();
    try {
      if (!process.waitFor(10, TimeUnit.SECONDS)) {
        process.destroyForcibly();
      }
    } catch (InterruptedException e) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
  }
}

package io.pointsman.bench.proxies;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pointsman.bench.contender.ChildProcess;
import io.pointsman.bench.contender.ProcessTree;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The native backend: as many workers as there are ports. */
public final class Backend implements AutoCloseable {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final ChildProcess process;
  private final List<Integer> ports;
  private final Path errors;

  private Backend(ChildProcess process, List<Integer> ports, Path errors) {
    this.process = process;
    this.ports = List.copyOf(ports);
    this.errors = errors;
  }

  /**
   * Starts it; it answers at once.
   *
   * @param cores the numbers of the cores it may use, empty: all
   */
  public static Backend start(NativeTools tools, int workers, String cores) throws IOException {
    Path errors = Files.createTempFile("pointsman-bench-backend", ".log");
    ChildProcess process =
        ChildProcess.startReadable(
            List.of(tools.backend(), "--ports", Integer.toString(workers)), cores, errors);
    BufferedReader out = process.process().inputReader();
    String line = out.readLine();
    if (line == null) {
      process.close();
      throw new IOException("backend: " + Files.readString(errors).strip());
    }
    List<Integer> ports = new ArrayList<>();
    JSON.readTree(line).path("ports").forEach(port -> ports.add(port.asInt()));
    return new Backend(process, ports, errors);
  }

  /** What its streams are like from now on, and whether it answers calls for tokens. */
  void set(int chunks, long gapMicros, boolean render) throws IOException {
    get(
        "/__set?chunks=%d&gap_us=%d&render=%d"
            .formatted(Math.max(1, chunks), gapMicros, render ? 1 : 0));
  }

  /** What it has served, and how late, since this was last asked, it sent events. */
  JsonNode counts() throws IOException {
    return JSON.readTree(get("/__counts"));
  }

  private byte[] get(String path) throws IOException {
    try (InputStream in =
        URI.create("http://127.0.0.1:" + ports.getFirst() + path).toURL().openStream()) {
      return in.readAllBytes();
    }
  }

  int firstPort() {
    return ports.getFirst();
  }

  /** Of its workers. */
  public List<String> urls() {
    return ports.stream().map(port -> "http://127.0.0.1:" + port).toList();
  }

  ProcessTree tree() {
    return process.tree();
  }

  @Override
  public void close() throws IOException {
    process.close();
    Files.deleteIfExists(errors);
  }
}

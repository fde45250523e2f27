package io.pointsman.tool.bench.proxies;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pointsman.tool.bench.contender.ChildProcess;
import io.pointsman.tool.bench.contender.ProcessTree;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The native backend: one process with one worker per port. */
public final class NativeBackend implements AutoCloseable {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final ChildProcess process;
  private final List<Integer> ports;
  private final Path errors;

  private NativeBackend(ChildProcess process, List<Integer> ports, Path errors) {
    this.process = process;
    this.ports = List.copyOf(ports);
    this.errors = errors;
  }

  /**
   * Starts the backend; it is ready on return.
   *
   * @param workers number of workers
   * @param cores numbers of the permitted cores; empty: all
   * @throws IOException if it does not start; the message contains its errors
   */
  public static NativeBackend start(NativeTools tools, int workers, String cores)
      throws IOException {
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
    return new NativeBackend(process, ports, errors);
  }

  /**
   * Sets the backend's behaviour from now on.
   *
   * @param chunks events of each stream
   * @param gapMicros time between two events, in microseconds
   * @param render true if it answers tokenization calls
   */
  void set(int chunks, long gapMicros, boolean render) throws IOException {
    get(
        "/__set?chunks=%d&gap_us=%d&render=%d"
            .formatted(Math.max(1, chunks), gapMicros, render ? 1 : 0));
  }

  /** Counts of served requests, and delays of sent events since the previous call. */
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

  /** URLs of the workers. */
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

package io.pointsman.tool.replay.random;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Results of earlier runs, one JSON object per line, by seed, policy and fingerprint of the run.
 * Safe for use by several threads.
 */
final class ReferenceFile {
  private final @Nullable Path file;
  private final ObjectMapper json = new ObjectMapper();
  private final Map<ReferenceKey, ObjectNode> lines = new HashMap<>();

  private record ReferenceKey(long seed, String policy, String fingerprint) {}

  private ReferenceFile(@Nullable Path file) {
    this.file = file;
  }

  /**
   * Reads a file.
   *
   * @param file need not exist; null: nothing is stored beyond this run
   * @throws IllegalArgumentException if a line is invalid
   */
  static ReferenceFile open(@Nullable Path file) throws IOException {
    ReferenceFile opened = new ReferenceFile(file);
    if (file != null && Files.exists(file)) {
      int number = 0;
      for (String line : Files.readAllLines(file)) {
        number++;
        opened.read(line, file + ":" + number);
      }
    }
    return opened;
  }

  private void read(String line, String where) throws IOException {
    JsonNode read;
    try {
      read = json.readTree(line);
    } catch (IOException e) {
      throw new IllegalArgumentException("reference: " + where + " (expected: JSON objects)", e);
    }
    if (!(read instanceof ObjectNode object) || !object.has("fingerprint")) {
      throw new IllegalArgumentException("reference: " + where + " (expected: a stored result)");
    }
    ReferenceKey key =
        new ReferenceKey(
            object.path("seed").asLong(),
            object.path("policy").asText(),
            object.path("fingerprint").asText());
    lines.put(key, object);
  }

  /** The result of a policy; null if there is none. */
  synchronized @Nullable Measure measure(long seed, String policy, String fingerprint) {
    ObjectNode line = lines.get(new ReferenceKey(seed, policy, fingerprint));
    return line == null
        ? null
        : new Measure(
            line.path("ttft_mean_ms").asDouble(),
            line.path("ttft_p99_ms").asDouble(),
            line.path("e2e_mean_ms").asDouble(),
            line.path("hit").asDouble(),
            line.path("served").asInt(),
            line.path("left").asInt());
  }

  void keep(long seed, String policy, String fingerprint, Measure measure) {
    ObjectNode line = json.createObjectNode();
    line.put("seed", seed).put("policy", policy).put("fingerprint", fingerprint);
    line.put("ttft_mean_ms", measure.ttftMean()).put("ttft_p99_ms", measure.ttftP99());
    line.put("e2e_mean_ms", measure.endToEndMean()).put("hit", measure.hit());
    line.put("served", measure.served()).put("left", measure.left());
    keep(new ReferenceKey(seed, policy, fingerprint), line);
  }

  /** Requests per second at load 1.0; NaN if unknown. */
  synchronized double capacity(long seed, String fingerprint) {
    ObjectNode line = lines.get(new ReferenceKey(seed, "capacity", fingerprint));
    return line == null ? Double.NaN : line.path("capacity").asDouble();
  }

  void keepCapacity(long seed, String fingerprint, double capacity) {
    ObjectNode line = json.createObjectNode();
    line.put("seed", seed).put("policy", "capacity").put("fingerprint", fingerprint);
    line.put("capacity", capacity);
    keep(new ReferenceKey(seed, "capacity", fingerprint), line);
  }

  private synchronized void keep(ReferenceKey key, ObjectNode line) {
    lines.put(key, line);
    if (file == null) {
      return;
    }
    try {
      Files.write(
          file, List.of(line.toString()), StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}

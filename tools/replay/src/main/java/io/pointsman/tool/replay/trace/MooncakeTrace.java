package io.pointsman.tool.replay.trace;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pointsman.engine.prefix.PrefixBlocks;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.zip.GZIPInputStream;

/**
 * Traces in the format of the Mooncake project: one JSON object per line. The members are {@code
 * timestamp} (ms), {@code input_length}, {@code output_length} (tokens) and {@code hash_ids}. There
 * is one hash for each 512 tokens, chained by prefix.
 *
 * <p>Extensions: {@code block_tokens} sets another block length. If lines differ, as in captures of
 * this router, the mean over all blocks is used. Requests that an engine refused, according to the
 * {@code end} of captures, are omitted. Lines may be in any order, and times may start anywhere:
 * the first request arrives at 0.
 */
public final class MooncakeTrace {
  private static final int BLOCK_TOKENS = 512;

  private MooncakeTrace() {}

  /**
   * Reads a file; one that ends in {@code .gz} is decompressed.
   *
   * @throws IllegalArgumentException if a line is invalid; the message contains its number
   */
  public static Trace read(Path file) throws IOException {
    ObjectMapper json = new ObjectMapper();
    List<Line> read = new ArrayList<>();
    try (BufferedReader lines = open(file)) {
      int number = 0;
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        number++;
        if (!line.isBlank()) {
          try {
            read.add(Line.of(json.readTree(line)));
          } catch (JsonProcessingException | IllegalArgumentException e) {
            throw new IllegalArgumentException(
                "%s:%d: %s"
                    .formatted(
                        file,
                        number,
                        String.valueOf(e.getMessage()).lines().findFirst().orElse("")),
                e);
          }
        }
      }
    }
    read.removeIf(Line::refused);
    int blockTokens = blockTokens(read);
    read.sort(Comparator.comparingDouble(Line::at));
    double first = read.isEmpty() ? 0 : read.getFirst().at;
    String name = String.valueOf(file.getFileName());
    return new Trace(
        name.replaceFirst("\\.jsonl(\\.gz)?$", ""),
        blockTokens,
        read.stream().map(line -> line.request(first, blockTokens)).toList());
  }

  private static BufferedReader open(Path file) throws IOException {
    InputStream bytes = Files.newInputStream(file);
    try {
      boolean packed = file.toString().endsWith(".gz");
      // A separate decoder rejects invalid UTF-8.
      return new BufferedReader(
          new InputStreamReader(packed ? new GZIPInputStream(bytes) : bytes, UTF_8.newDecoder()));
    } catch (IOException e) {
      bytes.close();
      throw e;
    }
  }

  private static int blockTokens(List<Line> lines) {
    double tokens = 0;
    long blocks = 0;
    for (Line line : lines) {
      if (line.blockTokens > 0) {
        tokens += line.blockTokens * line.ids.length;
        blocks += line.ids.length;
      }
    }
    return blocks == 0 ? BLOCK_TOKENS : Math.clamp(Math.round(tokens / blocks), 1, 1 << 20);
  }

  /**
   * One line.
   *
   * @param blockTokens tokens per block; 0 if not given
   * @param refused true if an engine answered with a client error
   */
  @SuppressWarnings("ArrayRecordComponent") // read, used once
  private record Line(
      double at, int input, int output, double blockTokens, long[] ids, boolean refused) {
    static Line of(JsonNode line) {
      // Created only as a check, because errors of a line must be reported with its number.
      TraceRequest checked =
          new TraceRequest(
              number(field(line, "timestamp"), "timestamp"),
              -1,
              whole(line, "input_length"),
              whole(line, "output_length"),
              ids(field(line, "hash_ids")));
      JsonNode reportedSize = line.get("block_tokens");
      double blockTokens =
          reportedSize == null ? 0 : Math.max(0, number(reportedSize, "block_tokens"));
      return new Line(
          checked.at(),
          checked.inputTokens(),
          checked.outputTokens(),
          blockTokens,
          checked.blocks(),
          line.path("end").asText().equals("refused"));
    }

    private static long[] ids(JsonNode written) {
      require(written.isArray(), "hash_ids", written, "a list of numbers");
      long[] ids = new long[written.size()];
      for (int i = 0; i < ids.length; i++) {
        JsonNode id = written.get(i);
        require(id.isIntegralNumber(), "hash_ids", id, "a list of numbers");
        ids[i] = PrefixBlocks.mix(id.asLong());
      }
      return ids;
    }

    /**
     * @param begins start time of the trace
     */
    TraceRequest request(double begins, int blockTokens) {
      int most = Math.min(ids.length, Math.ceilDiv(input, blockTokens));
      return new TraceRequest(at - begins, -1, input, output, Arrays.copyOf(ids, most));
    }
  }

  private static double number(JsonNode value, String name) {
    require(value.isNumber() && Double.isFinite(value.asDouble()), name, value, "a number");
    return value.asDouble();
  }

  private static int whole(JsonNode line, String name) {
    JsonNode value = field(line, name);
    double number = number(value, name);
    require(number == (int) number, name, value, "a whole number");
    return (int) number;
  }

  private static void require(boolean right, String name, JsonNode value, String expected) {
    if (!right) {
      throw new IllegalArgumentException(name + ": " + value + " (expected: " + expected + ")");
    }
  }

  private static JsonNode field(JsonNode line, String name) {
    JsonNode value = line.get(name);
    if (value == null) {
      throw new IllegalArgumentException(name + ": missing");
    }
    return value;
  }
}

package io.pointsman.replay.trace;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pointsman.engine.prefix.PrefixBlocks;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;

/**
 * Traces in the format of the Mooncake project: one JSON object a line with {@code timestamp} (ms),
 * {@code input_length}, {@code output_length} (tokens) and {@code hash_ids}, one for each 512
 * tokens, chained by prefix. Lines with {@code block_tokens} say that their blocks have another
 * length; of several, as in captures of this router, the mean of all blocks is taken. Requests that
 * an engine refused, by the {@code end} of such captures, were no work and are left out. Lines may
 * stand in any order, and their times count from anywhere: the first request comes at 0.
 */
public final class MooncakeTrace {
  private static final int BLOCK_TOKENS = 512;

  private MooncakeTrace() {}

  /**
   * Reads a file.
   *
   * @throws IllegalArgumentException if a line is not of the format; the message names it
   */
  public static Trace read(Path file) throws IOException {
    ObjectMapper json = new ObjectMapper();
    List<Line> read = new ArrayList<>();
    try (BufferedReader lines = Files.newBufferedReader(file)) {
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
        name.replaceFirst("\\.jsonl$", ""),
        blockTokens,
        read.stream().map(line -> line.request(first, blockTokens)).toList());
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
   * @param blockTokens tokens of its blocks; 0 if it does not say
   * @param refused whether an engine answered with an error of the client's
   */
  @SuppressWarnings("ArrayRecordComponent") // read, used once
  private record Line(
      double at, int input, int output, double blockTokens, long[] ids, boolean refused) {
    static Line of(JsonNode line) {
      JsonNode written = field(line, "hash_ids");
      long[] ids = new long[written.size()];
      for (int i = 0; i < ids.length; i++) {
        ids[i] = PrefixBlocks.mix(written.get(i).asLong());
      }
      // Made to be checked: what is wrong with a line is to be told with its number.
      TraceRequest checked =
          new TraceRequest(
              field(line, "timestamp").asDouble(),
              -1,
              field(line, "input_length").asInt(),
              field(line, "output_length").asInt(),
              ids);
      double blockTokens = Math.max(0, line.path("block_tokens").asDouble(0));
      return new Line(
          checked.at(),
          checked.inputTokens(),
          checked.outputTokens(),
          blockTokens,
          ids,
          line.path("end").asText().equals("refused"));
    }

    /**
     * @param begins when the trace does
     */
    TraceRequest request(double begins, int blockTokens) {
      int most = Math.min(ids.length, Math.ceilDiv(input, blockTokens));
      return new TraceRequest(at - begins, -1, input, output, Arrays.copyOf(ids, most));
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

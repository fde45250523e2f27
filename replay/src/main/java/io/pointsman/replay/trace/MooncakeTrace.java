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
import java.util.List;

/**
 * Traces in the format of the Mooncake project: one JSON object a line with {@code timestamp} (ms),
 * {@code input_length}, {@code output_length} (tokens) and {@code hash_ids}, one for each 512
 * tokens, chained by prefix. A first line with {@code block_tokens} says that blocks have another
 * length.
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
    List<TraceRequest> requests = new ArrayList<>();
    int blockTokens = 0;
    try (BufferedReader lines = Files.newBufferedReader(file)) {
      int number = 0;
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        number++;
        if (!line.isBlank()) {
          try {
            JsonNode read = json.readTree(line);
            blockTokens = blockTokens == 0 ? blockTokens(read) : blockTokens;
            requests.add(request(read, blockTokens));
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
    String name = String.valueOf(file.getFileName());
    return new Trace(name.replaceFirst("\\.jsonl$", ""), Math.max(1, blockTokens), requests);
  }

  private static int blockTokens(JsonNode line) {
    JsonNode told = line.get("block_tokens");
    return told == null ? BLOCK_TOKENS : Math.clamp(Math.round(told.asDouble()), 1, 1 << 20);
  }

  private static TraceRequest request(JsonNode line, int blockTokens) {
    JsonNode ids = field(line, "hash_ids");
    int input = field(line, "input_length").asInt();
    long[] blocks = new long[Math.min(ids.size(), Math.ceilDiv(input, blockTokens))];
    for (int i = 0; i < blocks.length; i++) {
      blocks[i] = PrefixBlocks.mix(ids.get(i).asLong());
    }
    double at = field(line, "timestamp").asDouble();
    return new TraceRequest(at, -1, input, field(line, "output_length").asInt(), blocks);
  }

  private static JsonNode field(JsonNode line, String name) {
    JsonNode value = line.get(name);
    if (value == null) {
      throw new IllegalArgumentException(name + ": missing");
    }
    return value;
  }
}

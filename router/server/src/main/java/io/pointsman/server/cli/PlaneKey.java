package io.pointsman.server.cli;

import io.pointsman.config.ConfigException;
import io.pointsman.engine.env.FileProblem;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Sources of an API key for a proxy that queries the router. Messages never contain the key.
 *
 * @param flag flag for the key; the flag for a file has the suffix {@code -file}
 * @param variable environment variable
 */
record PlaneKey(String flag, String variable) {
  /** Environment variable for the router's key. */
  static final String ROUTERS = "POINTSMAN_API_KEY";

  /** Environment variable for the engines' key. */
  static final String ENGINES = "POINTSMAN_ENGINE_API_KEY";

  /** The key that the proxy sends to the router. */
  static final PlaneKey OF_ROUTER = new PlaneKey("--api-key", ROUTERS);

  /** The key that the proxy adds to requests without Authorization. */
  static final PlaneKey OF_ENGINES = new PlaneKey("--engine-api-key", ENGINES);

  private static final int LONGEST = 4096;

  /**
   * The key from the flag or the file, otherwise from the environment; empty if there is none.
   *
   * @throws ConfigException if both flags are given, the file is unreadable, or the key is invalid
   */
  String of(@Nullable String given, @Nullable Path file, Map<String, String> environment) {
    if (given != null && file != null) {
      throw new ConfigException(flag + "-file: given beside " + flag + " (expected: one of them)");
    }
    if (given != null) {
      return checked(flag, given);
    }
    if (file != null) {
      return checked(flag + "-file: " + file, read(file));
    }
    String kept = environment.getOrDefault(variable, "");
    return kept.isEmpty() ? "" : checked(variable, kept);
  }

  private String read(Path file) {
    try (InputStream in = Files.newInputStream(file)) {
      return new String(in.readNBytes(2 * LONGEST), StandardCharsets.UTF_8).strip();
    } catch (IOException e) {
      throw new ConfigException(flag + "-file: " + file + " cannot be read: " + FileProblem.of(e));
    }
  }

  private static String checked(String where, String key) {
    boolean printable = key.chars().allMatch(c -> c > ' ' && c <= '~');
    if (key.isEmpty() || key.length() > LONGEST || !printable || key.contains("${")) {
      throw new ConfigException(
          where + ": (expected: a key, 1 to " + LONGEST + " characters of ASCII without spaces)");
    }
    return key;
  }
}

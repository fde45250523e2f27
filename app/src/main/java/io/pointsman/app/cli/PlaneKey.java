package io.pointsman.app.cli;

import io.pointsman.app.config.ConfigException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A key of a plane's: where it is told. No message repeats it.
 *
 * @param flag on the command line; a file is named by the same with {@code -file}
 * @param variable in the environment
 */
record PlaneKey(String flag, String variable) {
  /** Where the key for the router is looked for in the environment. */
  static final String ROUTERS = "POINTSMAN_API_KEY";

  /** Where the key for engines is. */
  static final String ENGINES = "POINTSMAN_ENGINE_API_KEY";

  /** With which a plane speaks to its router. */
  static final PlaneKey OF_ROUTER = new PlaneKey("--api-key", ROUTERS);

  /** Which a plane adds for engines to requests that bring none. */
  static final PlaneKey OF_ENGINES = new PlaneKey("--engine-api-key", ENGINES);

  private static final int LONGEST = 4096;

  /**
   * The key of the command line, of a file, or else of the environment; empty if there is none.
   *
   * @throws ConfigException if both flags are given, the file cannot be read, or what it holds
   *     cannot be a key
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
      throw new ConfigException(flag + "-file: " + file + " cannot be read: " + e);
    }
  }

  private static String checked(String where, String key) {
    boolean printable = key.chars().allMatch(c -> c > ' ' && c <= '~');
    if (key.isEmpty() || key.length() > LONGEST || !printable) {
      throw new ConfigException(
          where + ": (expected: a key, 1 to " + LONGEST + " characters of ASCII without spaces)");
    }
    return key;
  }
}

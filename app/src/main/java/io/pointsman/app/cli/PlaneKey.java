package io.pointsman.app.cli;

import io.pointsman.app.config.ConfigException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The key with which a plane speaks to its router. No message repeats it. */
final class PlaneKey {
  /** Where it is looked for in the environment. */
  static final String VARIABLE = "POINTSMAN_API_KEY";

  private static final int LONGEST = 4096;

  private PlaneKey() {}

  /**
   * The key of the command line, of a file, or else of the environment; empty if there is none.
   *
   * @throws ConfigException if both flags are given, the file cannot be read, or what it holds
   *     cannot be a key
   */
  static String of(@Nullable String given, @Nullable Path file, Map<String, String> environment) {
    if (given != null && file != null) {
      throw new ConfigException("--api-key-file: given beside --api-key (expected: one of them)");
    }
    if (given != null) {
      return checked("--api-key", given);
    }
    if (file != null) {
      return checked("--api-key-file: " + file, read(file));
    }
    String kept = environment.getOrDefault(VARIABLE, "");
    return kept.isEmpty() ? "" : checked(VARIABLE, kept);
  }

  private static String read(Path file) {
    try (InputStream in = Files.newInputStream(file)) {
      return new String(in.readNBytes(2 * LONGEST), StandardCharsets.UTF_8).strip();
    } catch (IOException e) {
      throw new ConfigException("--api-key-file: " + file + " cannot be read: " + e);
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

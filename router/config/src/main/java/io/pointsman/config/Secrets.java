package io.pointsman.config;

import io.pointsman.config.key.ConfigKeys;
import io.pointsman.config.key.Key;
import io.pointsman.config.value.RawValue;
import io.pointsman.engine.env.FileProblem;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Sources of a secret besides the configuration file and the command line. Messages never contain
 * the secret.
 */
public final class Secrets {
  /** End of the name of a flag that names a file with a secret. */
  public static final String FILE_SUFFIX = "-file";

  private static final int LONGEST = 4096;
  private static final String EXPECTED = " (expected: a text, {env: NAME} or {file: PATH})";

  private Secrets() {}

  /** True if a flag with {@link #FILE_SUFFIX} names a file with the value of the key. */
  public static boolean hasFileFlag(Key<?> key) {
    return key.isSecret()
        && !(key.defaultValue() instanceof Map)
        && ConfigKeys.at(key.path() + FILE_SUFFIX) == null;
  }

  /**
   * The secret in a file, without white space around it.
   *
   * @param where position of the file's name, for messages
   * @throws ConfigException if the file cannot be read, or contains no secret
   */
  public static String ofFile(String where, String file) {
    String text;
    try (InputStream in = Files.newInputStream(Path.of(file))) {
      text = new String(in.readNBytes(2 * LONGEST), StandardCharsets.UTF_8).strip();
    } catch (IOException | InvalidPathException e) {
      throw new ConfigException(where + ": " + file + " cannot be read: " + FileProblem.of(e));
    }
    return checked(where + ": " + file, text);
  }

  /**
   * The value of a secret in a file of configuration: {@code {env: NAME}} and {@code {file: PATH}}
   * are replaced, anything else remains.
   *
   * @throws ConfigException if the source has no secret
   */
  static RawValue resolved(String path, RawValue raw, Map<String, String> environment) {
    if (!(raw instanceof RawValue.Entries(Map<String, RawValue> entries, String where))) {
      return raw;
    }
    String name = where + ": " + path;
    if (entries.size() != 1) {
      throw new ConfigException(name + ": " + entries.keySet() + EXPECTED);
    }
    Map.Entry<String, RawValue> source = entries.entrySet().iterator().next();
    if (!(source.getValue() instanceof RawValue.Scalar(String text, _)) || text.isBlank()) {
      throw new ConfigException(name + ": " + source.getKey() + ": no text" + EXPECTED);
    }
    String secret =
        switch (source.getKey()) {
          case "env" -> ofVariable(name, text, environment);
          case "file" -> ofFile(name, text);
          default -> throw new ConfigException(name + ": " + source.getKey() + EXPECTED);
        };
    return new RawValue.Scalar(secret, where);
  }

  /** A group of secrets by name, each replaced as {@link #resolved} says. */
  static RawValue resolvedEach(String path, RawValue raw, Map<String, String> environment) {
    if (!(raw instanceof RawValue.Entries(Map<String, RawValue> entries, String where))) {
      return raw;
    }
    Map<String, RawValue> all = new LinkedHashMap<>();
    entries.forEach((name, value) -> all.put(name, resolved(path, value, environment)));
    return new RawValue.Entries(all, where);
  }

  private static String ofVariable(String where, String name, Map<String, String> environment) {
    String value = environment.get(name);
    if (value == null) {
      throw new ConfigException(
          where + ": env: " + name + ": not set in the environment (expected: a value)");
    }
    return checked(where + ": env: " + name, value.strip());
  }

  private static String checked(String where, String secret) {
    boolean printable = secret.chars().allMatch(c -> c > ' ' && c <= '~');
    if (secret.isEmpty() || secret.length() > LONGEST || !printable || secret.contains("${")) {
      throw new ConfigException(
          where
              + ": no secret (expected: 1 to "
              + LONGEST
              + " characters of ASCII without spaces and ${)");
    }
    return secret;
  }
}

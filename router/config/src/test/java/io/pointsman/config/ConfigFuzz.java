package io.pointsman.config;

import static java.nio.charset.StandardCharsets.UTF_8;

/**
 * Fuzz target: parses any text as a configuration file. A refused text gets messages that name the
 * file. An accepted text is printed as a file that reads back to the same values. Only {@link
 * ConfigException} may be thrown.
 */
public final class ConfigFuzz {
  private static final String NAME = "fuzz.yaml";

  private ConfigFuzz() {}

  /** Checks one input; throws if a condition is violated. */
  public static void fuzzerTestOneInput(byte[] input) {
    ConfigValues values;
    try {
      values = YamlConfig.parse(NAME, new String(input, UTF_8));
    } catch (ConfigException e) {
      assertNamed(e);
      return;
    }
    String printed = ConfigText.of(values);
    String again = ConfigText.of(YamlConfig.parse("printed", printed));
    if (!again.equals(printed)) {
      throw new AssertionError(printed + "\nreads back as\n" + again);
    }
    try {
      PointsmanConfig.from(values);
    } catch (ConfigException e) {
      if (e.problems().stream().anyMatch(String::isBlank)) {
        throw new AssertionError("a problem without words", e);
      }
    }
  }

  private static void assertNamed(ConfigException e) {
    boolean named =
        !e.problems().isEmpty() && e.problems().stream().allMatch(p -> p.startsWith(NAME));
    if (!named) {
      throw new AssertionError("problems: " + e.problems() + " (expected: each with its place)", e);
    }
  }
}

package io.pointsman.config;

import java.util.List;

/** An invalid configuration, with all of its problems. */
public final class ConfigException extends RuntimeException {
  private static final long serialVersionUID = 1;

  private final transient List<String> problems;

  /**
   * @param problems one line each: {@code where: key: value (expected: ...)}
   */
  public ConfigException(List<String> problems) {
    super(String.join("\n", problems));
    this.problems = List.copyOf(problems);
  }

  public ConfigException(String problem) {
    this(List.of(problem));
  }

  public List<String> problems() {
    return problems;
  }
}

package io.pointsman.tool.bench.contender;

import java.io.IOException;
import java.util.List;
import java.util.Map;

/**
 * A program that can be measured in front of engines, with the way to start it.
 *
 * @param name name in tables and options
 * @param body its handling of a request body, for tables
 * @param version version for tables; empty if unknown
 * @param missing the reason if it cannot be started; empty if it can
 * @param render true if the engines answer its tokenization calls
 * @param key key of each request to it; empty: none
 * @param launcher creates its command line
 */
public record Contender(
    String name,
    String body,
    String version,
    String missing,
    boolean render,
    String key,
    Launcher launcher) {

  /** A contender that takes requests without a key. */
  public Contender(
      String name, String body, String version, String missing, boolean render, Launcher launcher) {
    this(name, body, version, missing, render, "", launcher);
  }

  /** Writes the configuration and creates the command line. */
  @FunctionalInterface
  public interface Launcher {
    LaunchCommand launch(StartParameters place) throws IOException;
  }

  /**
   * A command line.
   *
   * @param environment variables added to those of this JVM
   */
  public record LaunchCommand(List<String> command, Map<String, String> environment) {
    public LaunchCommand {
      command = List.copyOf(command);
      environment = Map.copyOf(environment);
    }

    static LaunchCommand of(List<String> command) {
      return new LaunchCommand(command, Map.of());
    }
  }

  public boolean installed() {
    return missing.isEmpty();
  }

  /**
   * The load generator connected directly to the backend. Its results are the limit of the test
   * rig.
   */
  public static Contender direct() {
    return new Contender(
        "direct",
        "",
        "",
        "",
        false,
        _ -> {
          throw new IllegalStateException("direct: is no process");
        });
  }

  public boolean isDirect() {
    return name.equals("direct");
  }
}

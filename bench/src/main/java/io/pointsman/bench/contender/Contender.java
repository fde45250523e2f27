package io.pointsman.bench.contender;

import java.io.IOException;
import java.util.List;
import java.util.Map;

/**
 * Something that can stand in front of engines, and how it is started.
 *
 * @param name what tables and options call it
 * @param body what it does with the body of a request
 * @param version as shown in results
 * @param missing why it cannot be started, empty if it can
 * @param render whether the engines answer the calls with which it asks for tokens
 */
public record Contender(
    String name, String body, String version, String missing, boolean render, Launcher launcher) {

  /** The command line for a place, its configuration written. */
  @FunctionalInterface
  public interface Launcher {
    Launch launch(Place place) throws IOException;
  }

  /**
   * @param environment what is added to this process's own
   */
  public record Launch(List<String> command, Map<String, String> environment) {
    public Launch {
      command = List.copyOf(command);
      environment = Map.copyOf(environment);
    }

    static Launch of(List<String> command) {
      return new Launch(command, Map.of());
    }
  }

  public boolean installed() {
    return missing.isEmpty();
  }

  /** The generator straight at the backend: what the rig itself can do. */
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

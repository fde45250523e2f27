package io.pointsman.tool.bench;

import java.nio.file.Path;
import java.util.List;

/** Starts this project's router from the classes of the build, without the launcher. */
public final class BuiltRouter {
  private BuiltRouter() {}

  /** Root of the repository. */
  public static Path home() {
    return Path.of(System.getProperty("pointsman.root", "..")).toAbsolutePath().normalize();
  }

  /** First words of the command line, instead of the launcher's path. */
  public static List<String> command() {
    return List.of(
        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
        "-XX:+UseSerialGC",
        "--enable-native-access=ALL-UNNAMED",
        "--sun-misc-unsafe-memory-access=allow",
        "-cp",
        System.getProperty("java.class.path"),
        "io.pointsman.server.cli.Main");
  }
}

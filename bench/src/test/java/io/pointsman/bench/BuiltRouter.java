package io.pointsman.bench;

import java.nio.file.Path;
import java.util.List;

/** This project's router from the classes of the build: what the launcher starts, without it. */
public final class BuiltRouter {
  private BuiltRouter() {}

  /** The root of the repository. */
  public static Path home() {
    return Path.of(System.getProperty("pointsman.root", "..")).toAbsolutePath().normalize();
  }

  /** The words that take the place of the launcher's name. */
  public static List<String> command() {
    return List.of(
        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
        "-XX:+UseSerialGC",
        "--enable-native-access=ALL-UNNAMED",
        "--sun-misc-unsafe-memory-access=allow",
        "-cp",
        System.getProperty("java.class.path"),
        "io.pointsman.app.cli.Main");
  }
}

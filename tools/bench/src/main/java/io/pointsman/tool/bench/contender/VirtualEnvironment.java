package io.pointsman.tool.bench.contender;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/**
 * Python packages that {@code tools/bench/setup} installed.
 *
 * @param packages directory of the packages; may be missing
 */
record VirtualEnvironment(Path packages) {

  static VirtualEnvironment at(Path directory) {
    Path libraries = directory.resolve("lib");
    if (!Files.isDirectory(libraries)) {
      return new VirtualEnvironment(libraries);
    }
    try (Stream<Path> versions = Files.list(libraries)) {
      return new VirtualEnvironment(
          versions
              .filter(version -> String.valueOf(version.getFileName()).startsWith("python"))
              .findFirst()
              .orElse(libraries)
              .resolve("site-packages"));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Path of a file in a package; may be missing. */
  Path file(String path) {
    return packages.resolve(path);
  }

  /**
   * Version of a package, from the name of its {@code dist-info} directory; empty if it is not
   * installed.
   */
  String version(String name) {
    if (!Files.isDirectory(packages)) {
      return "";
    }
    String prefix = name + "-";
    String suffix = ".dist-info";
    try (Stream<Path> entries = Files.list(packages)) {
      return entries
          .map(entry -> String.valueOf(entry.getFileName()))
          .filter(entry -> entry.startsWith(prefix) && entry.endsWith(suffix))
          .map(entry -> entry.substring(prefix.length(), entry.length() - suffix.length()))
          .findFirst()
          .orElse("");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}

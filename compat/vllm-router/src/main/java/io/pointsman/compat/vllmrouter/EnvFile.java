package io.pointsman.compat.vllmrouter;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The {@code .env} file that vllm-router's Rust binary adds to its environment. It is the nearest
 * one, in the working directory or above it.
 */
final class EnvFile {
  private EnvFile() {}

  /**
   * The nearest {@code .env} file, if it gives the variable a value; otherwise null. An unreadable
   * file counts as empty.
   *
   * @param directory absolute path of the working directory
   */
  static @Nullable Path setting(String variable, Path directory) {
    Pattern line =
        Pattern.compile(
            "\\s*(export\\s+)?" + Pattern.quote(variable) + "\\s*=\\s*[\"']?[^\\s\"'#].*");
    for (Path at = directory; at != null; at = at.getParent()) {
      Path file = at.resolve(".env");
      if (Files.isRegularFile(file)) {
        return lines(file).stream().anyMatch(each -> line.matcher(each).matches()) ? file : null;
      }
    }
    return null;
  }

  private static List<String> lines(Path file) {
    try {
      return Files.readAllLines(file, StandardCharsets.ISO_8859_1);
    } catch (IOException e) {
      // vllm-router ignores it too.
      return List.of();
    }
  }
}

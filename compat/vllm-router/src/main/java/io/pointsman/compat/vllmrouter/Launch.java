package io.pointsman.compat.vllmrouter;

import io.pointsman.config.ConfigValues;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The result of a launcher.
 *
 * @param notes differences from the other router, for the log
 * @param file file to read again after each change while the router runs; null for none
 * @param shown settings of the file in force, for {@code GET /health}; empty without a file
 */
public record Launch(
    ConfigValues values, List<String> notes, @Nullable Path file, Map<String, String> shown) {
  public Launch {
    notes = List.copyOf(notes);
    shown = Map.copyOf(shown);
  }

  /** A launch without notes and file. */
  public static Launch of(ConfigValues values) {
    return new Launch(values, List.of(), null, Map.of());
  }
}

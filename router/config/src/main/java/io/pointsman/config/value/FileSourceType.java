package io.pointsman.config.value;

import io.pointsman.config.settings.DiscoverySettings.FileSource;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/** A watched file: its path, or a group with path and interval. */
public final class FileSourceType implements ValueType<FileSource> {
  private static final List<String> KEYS = List.of("path", "interval");
  private static final ValueType<Duration> INTERVAL =
      ValueTypes.duration(Duration.ofMillis(100), Duration.ofHours(1));

  @Override
  public FileSource read(RawValue raw) {
    return switch (raw) {
      case RawValue.Scalar(String text, _) -> of(text, FileSource.INTERVAL);
      case RawValue.Entries(Map<String, RawValue> entries, _) -> of(entries);
      case RawValue.Items _ ->
          throw new IllegalArgumentException("a list (expected: " + expected() + ")");
    };
  }

  private FileSource of(Map<String, RawValue> entries) {
    for (String key : entries.keySet()) {
      if (!KEYS.contains(key)) {
        throw new IllegalArgumentException(key + ": unknown key" + Nearest.hint(key, KEYS));
      }
    }
    if (!(entries.get("path") instanceof RawValue.Scalar(String path, _)) || path.isBlank()) {
      throw new IllegalArgumentException("path: missing (expected: the path of a file)");
    }
    RawValue interval = entries.get("interval");
    try {
      return of(path, interval == null ? FileSource.INTERVAL : INTERVAL.read(interval));
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException("interval: " + e.getMessage(), e);
    }
  }

  private static FileSource of(String path, Duration interval) {
    return path.isBlank() ? FileSource.NONE : new FileSource(path, interval);
  }

  @Override
  public String format(FileSource source) {
    return source.enabled()
        ? "{path: "
            + ValueTypes.quoted(source.path())
            + ", interval: "
            + INTERVAL.format(source.interval())
            + "}"
        : "\"\"";
  }

  @Override
  public String expected() {
    return "the path of a file, or a group with path and interval";
  }

  @Override
  public String label() {
    return "<file>";
  }
}

package io.pointsman.config;

import io.pointsman.config.value.ValueType;
import io.pointsman.config.value.ValueTypes;
import java.time.Duration;
import java.util.Locale;
import java.util.function.Supplier;
import java.util.regex.Pattern;

/** Builds records of settings, with messages as in the configuration file. */
final class RecordGroup {
  private static final Pattern ISO_DURATION = Pattern.compile("\\bPT[-\\dHMS.]*[HMS]");
  private static final Pattern INNER_CAPITAL = Pattern.compile("(?<=[a-z])[A-Z](?=[a-z])");
  private static final ValueType<Duration> ANY_DURATION =
      ValueTypes.duration(Duration.ZERO, Duration.ofDays(36_500));

  private RecordGroup() {}

  /**
   * Builds a record, and adds the group's name to the problem if its values contradict each other.
   */
  static <T> T group(String name, Supplier<T> record) {
    try {
      return record.get();
    } catch (IllegalArgumentException e) {
      throw new ConfigException(name + ": " + asWritten(String.valueOf(e.getMessage())));
    }
  }

  /** A record's message, with names and times as in the configuration file. */
  private static String asWritten(String message) {
    String times =
        ISO_DURATION
            .matcher(message)
            .replaceAll(found -> ANY_DURATION.format(Duration.parse(found.group())));
    return INNER_CAPITAL
        .matcher(times)
        .replaceAll(found -> "-" + found.group().toLowerCase(Locale.ROOT));
  }
}

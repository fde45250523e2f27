package io.pointsman.compat.vllmrouter;

import io.pointsman.config.ConfigException;
import io.pointsman.config.ConfigValues;
import io.pointsman.config.key.Key;
import io.pointsman.config.value.RawValue;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Result of a translation: configuration values and problems. Confined to one thread. */
public final class Translation {
  /** Maximum of drain-timeout; in practice an unlimited wait for requests. */
  public static final Duration LONGEST_DRAIN = Duration.ofHours(24);

  private final ConfigValues values = new ConfigValues();
  private final ConfigValues own = new ConfigValues();
  private final List<String> problems = new ArrayList<>();
  private final List<String> notes = new ArrayList<>();
  private List<String> workerUrls = List.of();
  private int dataParallelSize = 1;
  private Backend backend = Backend.VLLM;
  private boolean discovers;
  private final PdMode pd = new PdMode();
  private final Map<String, Map<String, String>> eventLabels = new LinkedHashMap<>();
  private final Map<String, String> eventFlags = new HashMap<>();

  /** The values set so far. */
  public ConfigValues values() {
    return values;
  }

  /** The values set by our own flags, which win. */
  ConfigValues own() {
    return own;
  }

  /** The problems, one line each; the list is live. */
  public List<String> problems() {
    return problems;
  }

  /** Differences from the other router that the log reports at the start; the list is live. */
  public List<String> notes() {
    return notes;
  }

  /** Adds a problem with a flag. */
  public void problem(Given given, String found, String expected) {
    problems.add(given.flag() + ": " + found + " (expected: " + expected + ")");
  }

  void workerUrls(List<String> urls) {
    workerUrls = List.copyOf(urls);
  }

  List<String> workerUrls() {
    return workerUrls;
  }

  /** Enables discovery of workers in Kubernetes. */
  void discovery() {
    discovers = true;
  }

  boolean discovers() {
    return discovers;
  }

  /** Settings for prefill and decode on separate workers. */
  PdMode pd() {
    return pd;
  }

  /** Labels that describe KV-event publishers, by worker URL; live. */
  Map<String, Map<String, String>> eventLabels() {
    return eventLabels;
  }

  /** The flag that first named publishers, by worker URL; live. */
  Map<String, String> eventFlags() {
    return eventFlags;
  }

  void dataParallelSize(int size) {
    dataParallelSize = size;
  }

  int dataParallelSize() {
    return dataParallelSize;
  }

  void backend(Backend kind) {
    backend = kind;
  }

  Backend backend() {
    return backend;
  }

  /** An action that sets a key to the given text. */
  public static <T> Effect.Action as(Key<T> key) {
    return (given, into) ->
        into.read(key, new RawValue.Scalar(given.value(), given.flag()), given.value(), given);
  }

  /** An action that sets a key to the given list. */
  public static <T> Effect.Action list(Key<T> key) {
    return (given, into) -> {
      List<RawValue> items = new ArrayList<>();
      for (String value : given.values()) {
        items.add(new RawValue.Scalar(value, given.flag()));
      }
      into.read(
          key, new RawValue.Items(items, given.flag()), String.join(" ", given.values()), given);
    };
  }

  /** An action that sets a key to {@code value}, for a switch. */
  public static <T> Effect.Action to(Key<T> key, T value) {
    return (_, into) -> into.values.set(key, value);
  }

  /**
   * An action that sets each key to a time, given as a whole number of {@code unit}, at least 1.
   */
  @SafeVarargs
  public static Effect.Action time(ChronoUnit unit, Key<Duration>... keys) {
    return time(1, unit, keys);
  }

  /** An action that sets each key to a time of at least {@code least} units. */
  @SafeVarargs
  static Effect.Action time(int least, ChronoUnit unit, Key<Duration>... keys) {
    return (given, into) -> {
      long number = into.whole(given, least, 31_536_000_000L);
      if (number >= 0) {
        for (Key<Duration> key : keys) {
          into.values.set(key, Duration.of(number, unit));
        }
      }
    };
  }

  /** The given whole number; adds a problem and returns -1 if it is invalid or out of range. */
  public long whole(Given given, long least, long most) {
    try {
      long number = Long.parseLong(given.value());
      if (number >= least && number <= most) {
        return number;
      }
    } catch (NumberFormatException e) {
      // Reported below, like a number out of range.
    }
    problem(given, given.value(), least + " to " + most);
    return -1;
  }

  private <T> void read(Key<T> key, RawValue raw, String shown, Given given) {
    try {
      values.set(key, key.type().read(raw));
      if (key.isSecret() && !shown.isEmpty()) {
        values.exposed(given.flag());
      }
    } catch (IllegalArgumentException e) {
      String reason = e.getMessage() == null ? shown : e.getMessage();
      problems.add(given.flag() + (reason.startsWith("[") ? "" : ": ") + reason);
    }
  }

  /**
   * The values, with our own flags applied.
   *
   * @throws ConfigException with all problems, if there are any
   */
  public ConfigValues orThrow() {
    if (!problems.isEmpty()) {
      throw new ConfigException(problems);
    }
    return values.setAll(own);
  }
}

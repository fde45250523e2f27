package io.pointsman.app.compat;

import io.pointsman.app.config.ConfigException;
import io.pointsman.app.config.ConfigValues;
import io.pointsman.app.config.key.Key;
import io.pointsman.app.config.value.Raw;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Where flags end up: configuration values, and what is wrong with the flags. Used by one thread.
 */
public final class Translation {
  /** The most that drain-timeout takes: as good as waiting for requests without a limit. */
  public static final Duration LONGEST_DRAIN = Duration.ofHours(24);

  private final ConfigValues values = new ConfigValues();
  private final ConfigValues own = new ConfigValues();
  private final List<String> problems = new ArrayList<>();
  private List<String> workerUrls = List.of();
  private int dataParallelSize = 1;
  private Backend backend = Backend.VLLM;
  private boolean discovers;
  private final PdMode pd = new PdMode();
  private final Map<String, Map<String, String>> eventLabels = new LinkedHashMap<>();
  private final Map<String, String> eventFlags = new HashMap<>();

  /** The values chosen so far. */
  public ConfigValues values() {
    return values;
  }

  /** The values that were chosen by our own flags, which win. */
  ConfigValues own() {
    return own;
  }

  /** What is wrong, one line each; the list is live. */
  public List<String> problems() {
    return problems;
  }

  /** Adds what is wrong with a flag. */
  public void problem(Given given, String found, String expected) {
    problems.add(given.flag() + ": " + found + " (expected: " + expected + ")");
  }

  void workerUrls(List<String> urls) {
    workerUrls = List.copyOf(urls);
  }

  List<String> workerUrls() {
    return workerUrls;
  }

  /** Workers are to be found in Kubernetes. */
  void discovery() {
    discovers = true;
  }

  boolean discovers() {
    return discovers;
  }

  /** What is asked for of prefill and decode on two workers. */
  PdMode pd() {
    return pd;
  }

  /** What is said of the publishers of KV events, as labels of workers by URL; live. */
  Map<String, Map<String, String>> eventLabels() {
    return eventLabels;
  }

  /** The flag that first named publishers, by the URL of their worker; live. */
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

  /** Chooses a value as it was written. */
  public static <T> Effect.Action as(Key<T> key) {
    return (given, into) ->
        into.read(key, new Raw.Scalar(given.value(), given.flag()), given.value(), given);
  }

  /** Chooses a list as it was written. */
  public static <T> Effect.Action list(Key<T> key) {
    return (given, into) -> {
      List<Raw> items = new ArrayList<>();
      for (String value : given.values()) {
        items.add(new Raw.Scalar(value, given.flag()));
      }
      into.read(key, new Raw.Items(items, given.flag()), String.join(" ", given.values()), given);
    };
  }

  /** Chooses {@code value} for a switch that is on. */
  public static <T> Effect.Action to(Key<T> key, T value) {
    return (_, into) -> into.values.set(key, value);
  }

  /** Chooses a time written as a whole number of {@code unit}, the same for each of the keys. */
  @SafeVarargs
  public static Effect.Action time(ChronoUnit unit, Key<Duration>... keys) {
    return time(1, unit, keys);
  }

  /** The same of at least {@code least} units. */
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

  /** The whole number that was given; -1, with a problem, if it is none in the range. */
  public long whole(Given given, long least, long most) {
    try {
      long number = Long.parseLong(given.value());
      if (number >= least && number <= most) {
        return number;
      }
    } catch (NumberFormatException e) {
      // Reported below, as a number out of range is.
    }
    problem(given, given.value(), least + " to " + most);
    return -1;
  }

  private <T> void read(Key<T> key, Raw raw, String shown, Given given) {
    try {
      values.set(key, key.type().read(raw));
    } catch (IllegalArgumentException e) {
      String said = e.getMessage() == null ? shown : e.getMessage();
      problems.add(given.flag() + (said.startsWith("[") ? "" : ": ") + said);
    }
  }

  /**
   * The values, if nothing is wrong.
   *
   * @throws ConfigException with every problem
   */
  public ConfigValues orThrow() {
    if (!problems.isEmpty()) {
      throw new ConfigException(problems);
    }
    return values.setAll(own);
  }
}

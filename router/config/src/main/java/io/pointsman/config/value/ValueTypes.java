package io.pointsman.config.value;

import io.pointsman.config.settings.DiscoverySettings.DnsName;
import io.pointsman.engine.fleet.WorkerSpec;
import java.math.BigDecimal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The types of values that keys have. It is a list: a new key finds its type here. */
public final class ValueTypes {
  private static final Pattern DURATION = Pattern.compile("(\\d{1,12})(ms|s|m|h)");
  private static final Pattern BYTES = Pattern.compile("(\\d{1,15})(KiB|MiB|GiB)?");
  private static final Pattern CLASS = Pattern.compile("[A-Za-z_$][\\w$]*(\\.[A-Za-z_$][\\w$]*)+");
  private static final Pattern PLAIN = Pattern.compile("[A-Za-z_/][A-Za-z0-9_./@-]*");
  private static final List<String> NOT_TEXT =
      List.of("true", "false", "null", "yes", "no", "on", "off");

  private ValueTypes() {}

  /** A whole number. */
  public static ValueType<Integer> integer(int least, int most) {
    String expected = "a whole number, " + range(least, most);
    return scalar(
        "<n>", expected, text -> (int) wholeNumber(text, least, most), value -> value.toString());
  }

  private static String range(long least, long most) {
    return most == Integer.MAX_VALUE ? least + " or more" : least + " to " + most;
  }

  private static long wholeNumber(String text, long least, long most) {
    long value = Long.parseLong(text);
    check(value >= least && value <= most);
    return value;
  }

  /** A decimal number. */
  public static ValueType<Double> decimal(double least, double most) {
    String expected =
        most == Double.MAX_VALUE
            ? "a number, " + shortest(least) + " or more"
            : "a number, " + shortest(least) + " to " + shortest(most);
    return scalar(
        "<x>",
        expected,
        text -> {
          double value = new BigDecimal(text).doubleValue();
          check(value >= least && value <= most);
          return value;
        },
        ValueTypes::shortest);
  }

  private static String shortest(double value) {
    String digits = Double.toString(value);
    if (digits.indexOf('E') < 0) {
      // Avoids BigDecimal here: its first use takes 40 ms, because the JDK builds a table of powers
      // of five.
      return digits.endsWith(".0") ? digits.substring(0, digits.length() - 2) : digits;
    }
    return new BigDecimal(Double.toString(value)).stripTrailingZeros().toPlainString();
  }

  /** {@code true} or {@code false}; a flag without a value means true. */
  public static ValueType<Boolean> bool() {
    return new ScalarType<>(
        "true|false",
        "true or false",
        "true",
        text -> {
          check(text.equals("true") || text.equals("false"));
          return text.equals("true");
        },
        value -> value.toString());
  }

  /**
   * A duration, for example {@code 250ms}, {@code 30s}, {@code 2m} or {@code 1h}. {@code 0} needs
   * no unit.
   */
  public static ValueType<Duration> duration(Duration least, Duration most) {
    String expected =
        "a duration such as 250ms, 30s, 2m or 1h, " + formatted(least) + " to " + formatted(most);
    return scalar(
        "<time>", expected, text -> within(time(text), least, most), ValueTypes::formatted);
  }

  /** A duration, or {@code off}; {@code off} and {@code 0} mean {@link Duration#ZERO}. */
  public static ValueType<Duration> durationOrOff(Duration least, Duration most) {
    String expected =
        "off or 0, or a duration such as 250ms, 30s, 2m or 1h, "
            + formatted(least)
            + " to "
            + formatted(most);
    return scalar(
        "<time>|off",
        expected,
        text -> timeOrOff(text, least, most),
        value -> value.isZero() ? "\"off\"" : formatted(value));
  }

  /** Like {@link #durationOrOff}; {@code on}, or a flag without a value, means {@code whenOn}. */
  public static ValueType<Duration> durationOrSwitch(
      Duration least, Duration most, Duration whenOn) {
    ValueType<Duration> inner = durationOrOff(least, most);
    return new ScalarType<>(
        "on|off|<time>",
        "on (" + formatted(whenOn) + "), " + inner.expected(),
        "on",
        text -> text.equals("on") ? whenOn : inner.read(new RawValue.Scalar(text, "")),
        inner::format);
  }

  private static Duration timeOrOff(String text, Duration least, Duration most) {
    Duration value = text.equals("off") ? Duration.ZERO : time(text);
    return value.isZero() ? value : within(value, least, most);
  }

  private static Duration within(Duration value, Duration least, Duration most) {
    check(value.compareTo(least) >= 0 && value.compareTo(most) <= 0);
    return value;
  }

  private static Duration time(String text) {
    if (text.equals("0")) {
      return Duration.ZERO;
    }
    Matcher matcher = DURATION.matcher(text);
    check(matcher.matches());
    long number = Long.parseLong(matcher.group(1));
    return switch (matcher.group(2)) {
      case "ms" -> Duration.ofMillis(number);
      case "s" -> Duration.ofSeconds(number);
      case "m" -> Duration.ofMinutes(number);
      default -> Duration.ofHours(number);
    };
  }

  private static String formatted(Duration value) {
    long millis = value.toMillis();
    if (millis == 0) {
      return "0";
    }
    if (millis % 1000 != 0) {
      return millis + "ms";
    }
    long seconds = millis / 1000;
    if (seconds % 60 != 0) {
      return seconds + "s";
    }
    return seconds % 3600 == 0 ? seconds / 3600 + "h" : seconds / 60 + "m";
  }

  /** A number of bytes, for example {@code 65536}, {@code 64KiB}, {@code 8MiB} or {@code 1GiB}. */
  public static ValueType<Long> bytes(long least, long most) {
    String expected =
        "bytes such as 65536, 64KiB, 8MiB or 1GiB, "
            + formattedBytes(least)
            + " to "
            + formattedBytes(most);
    return scalar(
        "<bytes>",
        expected,
        text -> {
          Matcher matcher = BYTES.matcher(text);
          check(matcher.matches());
          String unit = matcher.group(2);
          int shift =
              unit == null
                  ? 0
                  : switch (unit) {
                    case "KiB" -> 10;
                    case "MiB" -> 20;
                    default -> 30;
                  };
          long value = Math.multiplyExact(Long.parseLong(matcher.group(1)), 1L << shift);
          check(value >= least && value <= most);
          return value;
        },
        ValueTypes::formattedBytes);
  }

  private static String formattedBytes(long value) {
    for (int shift = 30; shift > 0 && value > 0; shift -= 10) {
      if (value % (1L << shift) == 0) {
        return (value >> shift) + (shift == 30 ? "GiB" : shift == 20 ? "MiB" : "KiB");
      }
    }
    return Long.toString(value);
  }

  /**
   * A text.
   *
   * @param what description of the text, for usage texts
   */
  public static ValueType<String> text(String label, String what, boolean mayBeEmpty) {
    return scalar(
        label,
        what,
        text -> {
          check(mayBeEmpty || !text.isBlank());
          return text;
        },
        ValueTypes::quoted);
  }

  /** One of several names. */
  public static ValueType<String> oneOf(List<String> names) {
    return scalar(
        "<name>",
        "one of " + String.join(", ", names),
        text -> {
          check(names.contains(text));
          return text;
        },
        ValueTypes::quoted);
  }

  /** One of several names, or the full name of a class. */
  public static ValueType<String> nameOrClass(List<String> names, String kind) {
    return scalar(
        "<name>",
        "one of " + String.join(", ", names) + ", or the full name of a class that is a " + kind,
        text -> {
          check(names.contains(text) || CLASS.matcher(text).matches());
          return text;
        },
        ValueTypes::quoted);
  }

  /** A constant of an enum, written in lower case with hyphens. */
  public static <E extends Enum<E>> ValueType<E> constant(Class<E> type) {
    Map<String, E> names = new LinkedHashMap<>();
    for (E each : type.getEnumConstants()) {
      names.put(each.name().toLowerCase(Locale.ROOT).replace('_', '-'), each);
    }
    return scalar(
        String.join("|", names.keySet()),
        "one of " + String.join(", ", names.keySet()),
        text -> {
          E value = names.get(text);
          if (value == null) {
            throw new IllegalArgumentException(text);
          }
          return value;
        },
        value -> value.name().toLowerCase(Locale.ROOT).replace('_', '-'));
  }

  /** A list of texts; a flag can be repeated or contain several, separated by commas. */
  public static ValueType<List<String>> texts(String label, String what) {
    return new ListType<>(
        label, "a list of " + what, text(label, what, false), ValueTypes::commaSeparated);
  }

  /** A list of whole numbers; a flag can be repeated or contain several, separated by commas. */
  public static ValueType<List<Integer>> integers(String label, int least, int most) {
    return new ListType<>(
        label,
        "a list of numbers, each " + range(least, most),
        integer(least, most),
        ValueTypes::commaSeparated);
  }

  static List<RawValue> commaSeparated(RawValue.Scalar scalar) {
    List<RawValue> parts = new ArrayList<>();
    for (String part : scalar.text().split(",", -1)) {
      if (!part.isBlank()) {
        parts.add(new RawValue.Scalar(part.strip(), scalar.where()));
      }
    }
    return parts;
  }

  /** A list of names in DNS that stand for workers. */
  public static ValueType<List<DnsName>> dnsNames() {
    return DnsNamesType.list();
  }

  /** A list of workers; a flag can be repeated or contain several URLs, separated by commas. */
  public static ValueType<List<WorkerSpec>> workers() {
    return WorkerType.list();
  }

  /**
   * Policies of models; a flag can be repeated or contain several, separated by commas.
   *
   * @param keys types of the keys that can be set per model, by path
   */
  public static ValueType<List<ModelPolicy>> modelPolicies(Map<String, ValueType<?>> keys) {
    return ModelPolicyType.list(keys);
  }

  /**
   * Queues of models; a flag can be repeated or contain several, separated by commas.
   *
   * @param most type of a model's maximum of running requests
   * @param size type of its queue size
   * @param status type of the status for a full queue
   */
  public static ValueType<List<ModelQueue>> modelQueues(
      ValueType<Integer> most, ValueType<Integer> size, ValueType<Integer> status) {
    return ModelQueueType.list(most, size, status);
  }

  /** {@code value} as YAML, quoted if necessary. */
  static String quoted(String value) {
    if (PLAIN.matcher(value).matches() && !NOT_TEXT.contains(value.toLowerCase(Locale.ROOT))) {
      return value;
    }
    StringBuilder out = new StringBuilder("\"");
    for (int i = 0; i < value.length(); i++) {
      char c = value.charAt(i);
      if (c == '"' || c == '\\') {
        out.append('\\').append(c);
      } else if (c < ' ' || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 || c == 0xfeff) {
        out.append(String.format(Locale.ROOT, "\\u%04x", (int) c));
      } else {
        out.append(c);
      }
    }
    return out.append('"').toString();
  }

  private static void check(boolean valid) {
    if (!valid) {
      throw new IllegalArgumentException();
    }
  }

  private static <T> ValueType<T> scalar(
      String label, String expected, Function<String, T> reader, Function<T, String> writer) {
    return new ScalarType<>(label, expected, "", reader, writer);
  }

  /** The form of {@code raw} in error messages. */
  static String shown(RawValue raw) {
    return switch (raw) {
      case RawValue.Scalar(String text, _) -> text.isEmpty() ? "missing" : text;
      case RawValue.Items _ -> "a list";
      case RawValue.Entries _ -> "a group of keys";
    };
  }

  private record ScalarType<T>(
      String label,
      String expected,
      String alone,
      Function<String, T> reader,
      Function<T, String> writer)
      implements ValueType<T> {
    @Override
    public T read(RawValue raw) {
      if (raw instanceof RawValue.Scalar(String text, _)) {
        try {
          return reader.apply(text);
        } catch (IllegalArgumentException | ArithmeticException e) {
          throw wrong(raw, e);
        }
      }
      throw wrong(raw, null);
    }

    private IllegalArgumentException wrong(RawValue raw, @Nullable Exception cause) {
      return new IllegalArgumentException(shown(raw) + " (expected: " + expected + ")", cause);
    }

    @Override
    public String format(T value) {
      return writer.apply(value);
    }
  }

  /** A list of items of one type; {@code splitter} splits a scalar into items. */
  record ListType<T>(
      String label,
      String expected,
      ValueType<T> item,
      Function<RawValue.Scalar, List<RawValue>> splitter)
      implements ValueType<List<T>> {
    @Override
    public List<T> read(RawValue raw) {
      return switch (raw) {
        case RawValue.Scalar scalar -> readSplit(scalar);
        case RawValue.Items(List<RawValue> items, _) -> readAll(items);
        case RawValue.Entries _ ->
            throw new IllegalArgumentException(shown(raw) + " (expected: " + expected + ")");
      };
    }

    /** Rejects an empty text: it is probably an unset variable, not an intended empty list. */
    private List<T> readSplit(RawValue.Scalar scalar) {
      List<RawValue> items = splitter.apply(scalar);
      if (items.isEmpty()) {
        throw new IllegalArgumentException("missing (expected: " + expected + ")");
      }
      return items.stream().map(item::read).toList();
    }

    private List<T> readAll(List<RawValue> items) {
      List<T> values = new ArrayList<>();
      for (int i = 0; i < items.size(); i++) {
        try {
          values.add(item.read(items.get(i)));
        } catch (IllegalArgumentException e) {
          throw new InvalidItem(i, items.get(i), e);
        }
      }
      return List.copyOf(values);
    }

    @Override
    public String format(List<T> value) {
      StringBuilder out = new StringBuilder("[");
      for (T each : value) {
        out.append(out.length() > 1 ? ", " : "").append(item.format(each));
      }
      return out.append("]").toString();
    }

    @Override
    public boolean repeatable() {
      return true;
    }
  }
}

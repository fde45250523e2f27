package io.pointsman.request.splice;

import java.util.regex.Pattern;

/** Arithmetic on integers in JSON form. */
public final class Arithmetic {
  /** Integers that always fit a long. */
  private static final Pattern INTEGER = Pattern.compile("-?[0-9]{1,18}");

  private Arithmetic() {}

  /** The value of an integer that is not negative; -1 for any other text. */
  public static long parse(String text) {
    return INTEGER.matcher(text).matches() ? Math.max(-1, Long.parseLong(text)) : -1;
  }

  public static RawJson add(RawJson value, BodyEdit.Add edit) {
    if (value.length() > 19 || !INTEGER.matcher(value.toString()).matches()) {
      return value;
    }
    long before = Long.parseLong(value.toString());
    return before < edit.least()
        ? value
        : RawJson.of(Math.max(edit.least(), Math.addExact(before, edit.amount())));
  }
}

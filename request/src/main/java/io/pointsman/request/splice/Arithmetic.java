package io.pointsman.request.splice;

import io.pointsman.engine.disagg.plan.BodyEdit;
import io.pointsman.engine.disagg.plan.RawJson;
import java.util.regex.Pattern;

/** Integers as they are written. */
final class Arithmetic {
  /** What surely fits a long. */
  private static final Pattern INTEGER = Pattern.compile("-?[0-9]{1,18}");

  private Arithmetic() {}

  /** A number that is not negative; -1 for everything else. */
  static long parse(String text) {
    return INTEGER.matcher(text).matches() ? Math.max(-1, Long.parseLong(text)) : -1;
  }

  static RawJson add(RawJson value, BodyEdit.Add edit) {
    if (value.length() > 19 || !INTEGER.matcher(value.toString()).matches()) {
      return value;
    }
    long before = Long.parseLong(value.toString());
    return before < edit.least()
        ? value
        : RawJson.of(Math.max(edit.least(), Math.addExact(before, edit.amount())));
  }
}

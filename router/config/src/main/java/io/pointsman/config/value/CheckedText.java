package io.pointsman.config.value;

import java.util.function.Predicate;

/**
 * A text in a certain form, or empty.
 *
 * @param valid the test for texts that are not empty
 */
public record CheckedText(String label, String expected, Predicate<String> valid)
    implements ValueType<String> {
  @Override
  public String read(RawValue raw) {
    if (raw instanceof RawValue.Scalar(String text, _) && (text.isEmpty() || valid.test(text))) {
      return text;
    }
    throw new IllegalArgumentException(ValueTypes.shown(raw) + " (expected: " + expected + ")");
  }

  @Override
  public String format(String value) {
    return ValueTypes.quoted(value);
  }
}

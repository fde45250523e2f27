package io.pointsman.request;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/** Headers as a list of names and values. */
public record TestHeaders(List<Map.Entry<String, String>> entries) implements RequestHeaders {
  public static final TestHeaders NONE = of();

  /**
   * @param namesAndValues names and values in turn
   */
  public static TestHeaders of(String... namesAndValues) {
    List<Map.Entry<String, String>> entries = new ArrayList<>();
    for (int i = 0; i < namesAndValues.length; i += 2) {
      entries.add(Map.entry(namesAndValues[i], namesAndValues[i + 1]));
    }
    return new TestHeaders(entries);
  }

  @Override
  public @Nullable String first(String lowerCaseName) {
    return entries.stream()
        .filter(e -> e.getKey().equalsIgnoreCase(lowerCaseName))
        .map(Map.Entry::getValue)
        .findFirst()
        .orElse(null);
  }

  @Override
  public void forEach(BiConsumer<? super CharSequence, ? super CharSequence> each) {
    entries.forEach(e -> each.accept(e.getKey(), e.getValue()));
  }
}

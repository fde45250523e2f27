package io.pointsman.request.reader;

import io.pointsman.request.RequestHeaders;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/** Headers as a map from names to values; names are case-insensitive. */
public record ListedHeaders(Map<String, List<String>> byName) implements RequestHeaders {
  @Override
  public @Nullable String first(String lowerCaseName) {
    for (Map.Entry<String, List<String>> header : byName.entrySet()) {
      if (header.getKey().equalsIgnoreCase(lowerCaseName) && !header.getValue().isEmpty()) {
        return header.getValue().getFirst();
      }
    }
    return null;
  }

  @Override
  public void forEach(BiConsumer<? super CharSequence, ? super CharSequence> each) {
    byName.forEach((name, values) -> values.forEach(value -> each.accept(name, value)));
  }
}

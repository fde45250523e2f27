package io.pointsman.request;

import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/** The headers of one request, as a data plane holds them. */
public interface RequestHeaders {
  /**
   * The first value of a header; null if there is none.
   *
   * @param lowerCaseName compared without regard to case
   */
  @Nullable String first(String lowerCaseName);

  /**
   * Hands every header to {@code each} as (name, value), in the order they came, repeated ones
   * repeatedly. Names may have any case. Identity headers are found in this one pass, so it should
   * neither copy nor sort.
   */
  void forEach(BiConsumer<? super CharSequence, ? super CharSequence> each);
}

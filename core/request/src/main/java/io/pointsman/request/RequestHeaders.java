package io.pointsman.request;

import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/** The headers of one request, in the form of the data plane that received it. */
public interface RequestHeaders {
  /**
   * The first value of a header; null if the header is absent.
   *
   * @param lowerCaseName name of the header in lower case; compared without regard to case
   */
  @Nullable String first(String lowerCaseName);

  /**
   * Passes each header to {@code each} as (name, value), in order of arrival. A repeated header is
   * passed each time. Names may have any case. Readers call this once per request, so
   * implementations should neither copy nor sort.
   */
  void forEach(BiConsumer<? super CharSequence, ? super CharSequence> each);
}

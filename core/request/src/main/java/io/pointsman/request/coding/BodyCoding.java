package io.pointsman.request.coding;

import io.pointsman.request.RequestHeaders;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The content coding of a body, as its headers name it.
 *
 * @param known the coding; null if there is none, or if the router cannot decode it
 * @param named value of {@code Content-Encoding}; empty if the body has no coding
 */
public record BodyCoding(@Nullable ContentCoding known, String named) {
  /** Name of the header, in lower case. */
  public static final String HEADER = "content-encoding";

  /** The body is not coded. */
  public static final BodyCoding NONE = new BodyCoding(null, "");

  /** The coding of a body with these headers. Several codings, one on the other, are unknown. */
  public static BodyCoding of(RequestHeaders headers) {
    if (headers.first(HEADER) == null) {
      return NONE;
    }
    List<String> names = new ArrayList<>(1);
    headers.forEach(
        (name, value) -> {
          if (HEADER.equalsIgnoreCase(name.toString())) {
            add(value.toString(), names);
          }
        });
    return switch (names.size()) {
      case 0 -> NONE;
      case 1 -> new BodyCoding(ContentCoding.named(names.getFirst()), names.getFirst());
      default -> new BodyCoding(null, String.join(", ", names));
    };
  }

  private static void add(String value, List<String> names) {
    for (String part : value.split(",", -1)) {
      String name = part.strip();
      if (!name.isEmpty() && !name.equalsIgnoreCase("identity")) {
        names.add(name);
      }
    }
  }

  /** True if the body has a coding, known or not. */
  public boolean present() {
    return !named.isEmpty();
  }
}

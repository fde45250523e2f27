package io.pointsman.engine.policy;

import static java.util.Objects.requireNonNull;

import org.jspecify.annotations.Nullable;

/**
 * Settings of {@code priority}, as in release 0.1.13 of vLLM's production-stack. A lower number is
 * more important, as in vLLM.
 *
 * @param header header with a request's priority; precedes the body
 * @param field member of the JSON body with the priority
 * @param standard priority of a request without one
 * @param threshold requests below this priority go to the least loaded worker
 */
public record PrioritySettings(String header, String field, int standard, int threshold) {
  public static final PrioritySettings DEFAULTS =
      new PrioritySettings("x-request-priority", "priority", 0, 0);

  public PrioritySettings {
    requireNonNull(header, "header");
    requireNonNull(field, "field");
  }

  /** The priority of a request with these fields. Values that are no whole numbers are ignored. */
  public int of(RequestFields fields) {
    Integer inHeader = whole(fields.header(header));
    Integer given = inHeader == null ? whole(fields.field(field)) : inHeader;
    return given == null ? standard : given;
  }

  private static @Nullable Integer whole(@Nullable Object value) {
    return switch (value) {
      case Long number when number == number.intValue() -> number.intValue();
      case String text -> parsed(text.strip());
      case null, default -> null;
    };
  }

  private static @Nullable Integer parsed(String text) {
    try {
      return Integer.valueOf(text);
    } catch (NumberFormatException _) {
      return null;
    }
  }
}

package io.pointsman.proxy.settings;

import java.util.List;
import java.util.Locale;

/**
 * Headers that the router adds or reads for its own purposes.
 *
 * @param requestIdHeaders request headers whose first present one becomes the answer's {@code
 *     x-request-id}; without any, an id is made
 * @param workerHeader whether answers carry {@code x-pointsman-worker}, the id of the worker that
 *     served
 */
public record HeaderSettings(List<String> requestIdHeaders, boolean workerHeader) {

  public static final HeaderSettings DEFAULTS =
      new HeaderSettings(
          List.of("x-request-id", "x-correlation-id", "x-trace-id", "request-id"), true);

  public HeaderSettings {
    requestIdHeaders =
        requestIdHeaders.stream().map(name -> name.toLowerCase(Locale.ROOT)).toList();
    if (requestIdHeaders.stream().anyMatch(String::isBlank)) {
      throw new IllegalArgumentException("requestIdHeaders: blank name (expected: header names)");
    }
  }
}

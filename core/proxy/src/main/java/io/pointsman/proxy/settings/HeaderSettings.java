package io.pointsman.proxy.settings;

import static java.util.Objects.requireNonNull;

import io.pointsman.proxy.wire.ForwardedSettings;
import java.util.List;
import java.util.Locale;

/**
 * Headers that the router adds or reads itself, and its form of errors.
 *
 * @param requestIdHeaders request headers, in order; the first one present becomes the answer's
 *     {@code x-request-id}. Without any, the router generates an id
 * @param workerHeader true if answers carry {@code x-pointsman-worker}, the id of the worker that
 *     served the request
 * @param stageErrors true if errors of prefill and decode workers get the form of production-stack,
 *     with the types {@code prefiller_error} and {@code decoder_error}
 * @param forwarded headers that describe the client's connection to workers
 * @param handovers true if regular workers get a client's fields of hand-overs: members of {@link
 *     io.pointsman.request.handover.HandoverFields} and request ids with addresses of engines
 */
public record HeaderSettings(
    List<String> requestIdHeaders,
    boolean workerHeader,
    boolean stageErrors,
    ForwardedSettings forwarded,
    boolean handovers) {

  public static final HeaderSettings DEFAULTS =
      new HeaderSettings(
          List.of("x-request-id", "x-correlation-id", "x-trace-id", "request-id"), true);

  /** Settings with the defaults of the others. */
  public HeaderSettings(List<String> requestIdHeaders, boolean workerHeader) {
    this(requestIdHeaders, workerHeader, false, ForwardedSettings.DEFAULTS);
  }

  /** Settings under which regular workers get no client's fields of hand-overs. */
  public HeaderSettings(
      List<String> requestIdHeaders,
      boolean workerHeader,
      boolean stageErrors,
      ForwardedSettings forwarded) {
    this(requestIdHeaders, workerHeader, stageErrors, forwarded, false);
  }

  public HeaderSettings {
    requireNonNull(forwarded, "forwarded");
    requestIdHeaders =
        requestIdHeaders.stream().map(name -> name.toLowerCase(Locale.ROOT)).toList();
    if (requestIdHeaders.stream().anyMatch(String::isBlank)) {
      throw new IllegalArgumentException("requestIdHeaders: blank name (expected: header names)");
    }
  }
}

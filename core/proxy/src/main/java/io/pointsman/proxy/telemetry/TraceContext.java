package io.pointsman.proxy.telemetry;

/**
 * Position of a request in a trace, as header values of W3C Trace Context. ASCII without control
 * characters.
 *
 * @param traceparent value of the header {@code traceparent}
 * @param tracestate value of the header {@code tracestate}; empty for none
 */
public record TraceContext(String traceparent, String tracestate) {}

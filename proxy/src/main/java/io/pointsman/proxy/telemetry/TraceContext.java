package io.pointsman.proxy.telemetry;

/**
 * The place of a request in a trace, as W3C's Trace Context has it in headers. ASCII without
 * control characters.
 *
 * @param traceparent value of the header of that name
 * @param tracestate value of the header of that name; empty for none
 */
public record TraceContext(String traceparent, String tracestate) {}

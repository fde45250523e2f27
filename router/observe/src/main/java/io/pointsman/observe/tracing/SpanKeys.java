package io.pointsman.observe.tracing;

import io.opentelemetry.api.common.AttributeKey;

/**
 * Attributes of spans. HTTP and generative-AI attributes have the names of OpenTelemetry's
 * conventions; the router's own begin with {@code pointsman}. docs/tracing.md explains them.
 */
final class SpanKeys {
  static final AttributeKey<String> METHOD = AttributeKey.stringKey("http.request.method");
  static final AttributeKey<String> ROUTE = AttributeKey.stringKey("http.route");
  static final AttributeKey<String> SCHEME = AttributeKey.stringKey("url.scheme");
  static final AttributeKey<String> PATH = AttributeKey.stringKey("url.path");
  static final AttributeKey<String> URL = AttributeKey.stringKey("url.full");
  static final AttributeKey<Long> STATUS = AttributeKey.longKey("http.response.status_code");
  static final AttributeKey<Long> RESEND = AttributeKey.longKey("http.request.resend_count");
  static final AttributeKey<String> SERVER_ADDRESS = AttributeKey.stringKey("server.address");
  static final AttributeKey<Long> SERVER_PORT = AttributeKey.longKey("server.port");
  static final AttributeKey<String> ERROR = AttributeKey.stringKey("error.type");
  static final AttributeKey<String> MODEL = AttributeKey.stringKey("gen_ai.request.model");
  static final AttributeKey<String> REQUEST_ID = AttributeKey.stringKey("pointsman.request_id");
  static final AttributeKey<String> WORKER = AttributeKey.stringKey("pointsman.worker");
  static final AttributeKey<String> POLICY = AttributeKey.stringKey("pointsman.policy");
  static final AttributeKey<Long> ATTEMPTS = AttributeKey.longKey("pointsman.attempts");
  static final AttributeKey<Boolean> STREAMED = AttributeKey.booleanKey("pointsman.streamed");
  static final AttributeKey<Double> TTFT = AttributeKey.doubleKey("pointsman.ttft_seconds");
  static final AttributeKey<String> PURPOSE = AttributeKey.stringKey("pointsman.purpose");
  static final AttributeKey<String> BLAME = AttributeKey.stringKey("pointsman.blame");

  private SpanKeys() {}
}

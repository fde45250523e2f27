package io.pointsman.server.tracing;

import com.google.protobuf.InvalidProtocolBufferException;
import io.opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest;
import io.opentelemetry.proto.common.v1.AnyValue;
import io.opentelemetry.proto.common.v1.KeyValue;
import io.opentelemetry.proto.trace.v1.Span;
import io.pointsman.testkit.Await;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;

/** The spans that a collector has received. */
final class Received {
  private final List<Span> spans = new CopyOnWriteArrayList<>();
  private final Map<String, String> resource = new HashMap<>();

  synchronized void take(byte[] message) throws InvalidProtocolBufferException {
    ExportTraceServiceRequest request = ExportTraceServiceRequest.parseFrom(message);
    request
        .getResourceSpansList()
        .forEach(
            from -> {
              resource.putAll(texts(from.getResource().getAttributesList()));
              from.getScopeSpansList().forEach(scope -> spans.addAll(scope.getSpansList()));
            });
  }

  synchronized Map<String, String> resource() {
    return Map.copyOf(resource);
  }

  int size() {
    return spans.size();
  }

  /** Waits until there are {@code count} spans. */
  List<Span> await(int count) {
    Await.until("spans: at least " + count, () -> spans.size() >= count);
    return List.copyOf(spans);
  }

  /** The spans of a kind among the first {@code count}, ordered by start. */
  List<Span> await(int count, Span.SpanKind kind) {
    return await(count).stream()
        .filter(span -> span.getKind() == kind)
        .sorted((a, b) -> Long.compare(a.getStartTimeUnixNano(), b.getStartTimeUnixNano()))
        .toList();
  }

  static Map<String, String> attributes(Span span) {
    return texts(span.getAttributesList());
  }

  private static Map<String, String> texts(List<KeyValue> all) {
    Map<String, String> texts = new HashMap<>();
    all.forEach(each -> texts.put(each.getKey(), text(each.getValue())));
    return texts;
  }

  private static String text(AnyValue value) {
    return switch (value.getValueCase()) {
      case STRING_VALUE -> value.getStringValue();
      case INT_VALUE -> Long.toString(value.getIntValue());
      case DOUBLE_VALUE -> Double.toString(value.getDoubleValue());
      case BOOL_VALUE -> Boolean.toString(value.getBoolValue());
      default -> value.toString();
    };
  }

  static String hex(com.google.protobuf.ByteString id) {
    return HexFormat.of().formatHex(id.toByteArray());
  }
}

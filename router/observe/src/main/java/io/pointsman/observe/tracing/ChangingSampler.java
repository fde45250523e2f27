package io.pointsman.observe.tracing;

import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.context.Context;
import io.opentelemetry.sdk.trace.data.LinkData;
import io.opentelemetry.sdk.trace.samplers.Sampler;
import io.opentelemetry.sdk.trace.samplers.SamplingResult;
import java.util.List;

/**
 * Samples a share of the traces that begin here, and continues those of clients as they are. The
 * share may change; the SDK has no such sampler. Any thread.
 */
final class ChangingSampler implements Sampler {
  private volatile Sampler present;

  /**
   * @param share 0 to 1
   */
  ChangingSampler(double share) {
    present = of(share);
  }

  private static Sampler of(double share) {
    return Sampler.parentBased(Sampler.traceIdRatioBased(share));
  }

  /** Uses another share for later traces. */
  void use(double share) {
    present = of(share);
  }

  @Override
  public SamplingResult shouldSample(
      Context parent,
      String traceId,
      String name,
      SpanKind kind,
      Attributes attributes,
      List<LinkData> links) {
    return present.shouldSample(parent, traceId, name, kind, attributes, links);
  }

  @Override
  public String getDescription() {
    return present.getDescription();
  }
}

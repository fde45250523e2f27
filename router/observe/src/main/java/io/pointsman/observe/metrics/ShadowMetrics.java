package io.pointsman.observe.metrics;

import io.pointsman.engine.shadow.ShadowReport;
import io.pointsman.engine.shadow.ShadowReport.Side;
import java.util.function.Supplier;

/** The metrics of the shadow policy, read at each scrape. */
final class ShadowMetrics {
  private static final String ACTIVE = "active";
  private static final String SHADOW = "shadow";

  private ShadowMetrics() {}

  static void register(Meters meters, Supplier<ShadowReport> reports) {
    meters.pulled(
        DecisionMetric.SHADOW_PLACEMENTS,
        sink -> {
          ShadowReport report = reports.get();
          sink.put(report.agreed(), "agreed");
          sink.put(report.shadow().placed() - report.agreed(), "differed");
          sink.put(report.refused(), "refused");
          sink.put(report.dropped(), "dropped");
        });
    meters.pulled(
        DecisionMetric.SHADOW_TOKENS,
        sink -> {
          ShadowReport report = reports.get();
          tokens(sink, report.acting(), ACTIVE);
          tokens(sink, report.shadow(), SHADOW);
        });
    meters.pulled(
        DecisionMetric.SHADOW_TTFT,
        sink -> {
          ShadowReport report = reports.get();
          sink.put(report.acting().ttftMillis() / 1e3, ACTIVE);
          sink.put(report.shadow().ttftMillis() / 1e3, SHADOW);
        });
    meters.pulled(
        DecisionMetric.SHADOW_IMBALANCE,
        sink -> {
          ShadowReport report = reports.get();
          sink.put(report.acting().imbalance(), ACTIVE);
          sink.put(report.shadow().imbalance(), SHADOW);
        });
    meters.pulled(DecisionMetric.SHADOW_FAILURES, sink -> sink.put(reports.get().failures()));
  }

  private static void tokens(Meters.Sink sink, Side side, String name) {
    sink.put(side.promptTokens(), name, "prompt");
    sink.put(side.cachedTokens(), name, "expected");
  }
}

package io.pointsman.observe.metrics;

import io.pointsman.proxy.telemetry.RequestReport;
import io.prometheus.metrics.model.snapshots.MetricSnapshot;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The metrics under the names of other routers that are provided together. Each has a registry of
 * its own, so it ends with all its series.
 */
public final class OtherNames {
  static final OtherNames NONE = new OtherNames(null, null);

  private final @Nullable VllmRouterMetrics vllmRouter;
  private final @Nullable StackMetrics productionStack;

  /**
   * @param vllmRouter null without these names
   * @param productionStack null without these names
   */
  OtherNames(@Nullable VllmRouterMetrics vllmRouter, @Nullable StackMetrics productionStack) {
    this.vllmRouter = vllmRouter;
    this.productionStack = productionStack;
  }

  @Nullable VllmRouterMetrics vllmRouter() {
    return vllmRouter;
  }

  @Nullable StackMetrics productionStack() {
    return productionStack;
  }

  boolean isEmpty() {
    return vllmRouter == null && productionStack == null;
  }

  /** Counts a request at its end. */
  void ended(RequestReport report) {
    if (vllmRouter != null) {
      vllmRouter.ended(report);
    }
    if (productionStack != null) {
      productionStack.ended(report);
    }
  }

  /** All values now. */
  MetricSnapshots scrape() {
    List<MetricSnapshot> all = new ArrayList<>();
    if (vllmRouter != null) {
      vllmRouter.scrape().forEach(all::add);
    }
    if (productionStack != null) {
      productionStack.scrape().forEach(all::add);
    }
    return new MetricSnapshots(all);
  }
}

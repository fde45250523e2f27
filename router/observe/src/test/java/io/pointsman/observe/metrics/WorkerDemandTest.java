package io.pointsman.observe.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The gauge of requests that wait for a worker. */
final class WorkerDemandTest {
  private final ModelLabels models = new ModelLabels(1);
  private final WorkerDemand demand =
      new WorkerDemand(new Meters(new PrometheusRegistry()), models);

  private long waiting(String model) {
    return demand.waitingByIndex().getOrDefault(models.index(model), 0L);
  }

  @Test
  void waitingRequestsMoveToTheLabelThatTheirModelGets() {
    demand.awaits("late", true);
    demand.awaits("late", true);
    demand.awaits("unknown", true);
    demand.awaits(null, true);
    assertThat(waiting("late")).as("with all models without a label").isEqualTo(3);

    models.add(List.of("late"));
    assertThat(waiting("late")).isEqualTo(2);
    assertThat(waiting("unknown")).isEqualTo(1);
  }

  @Test
  void nothingStaysWhenNobodyWaits() {
    demand.awaits("late", true);
    models.add(List.of("late"));
    demand.awaits("late", false);
    demand.awaits(null, true);
    demand.awaits(null, false);
    assertThat(demand.waitingByIndex()).isEqualTo(Map.of());
  }
}

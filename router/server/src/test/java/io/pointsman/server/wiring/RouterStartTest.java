package io.pointsman.server.wiring;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.config.ConfigValues;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.key.FleetKeys;
import io.pointsman.config.key.FrontKeys;
import io.pointsman.config.key.OperationKeys;
import io.pointsman.config.key.RoutingKeys;
import io.pointsman.engine.fleet.WorkerSpec;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Reasons that prevent a router's start. */
class RouterStartTest {
  @Test
  void tooManyWorkersAreRefusedWithBothNumbers() {
    List<WorkerSpec> two = Stream.of("http://a", "http://b").map(WorkerSpec::of).toList();
    PointsmanConfig config =
        PointsmanConfig.from(
            new ConfigValues()
                .set(FrontKeys.PORT, 0)
                .set(OperationKeys.METRICS_PORT, 0)
                .set(FleetKeys.MAX_WORKERS, 1)
                .set(RoutingKeys.WORKERS, two));

    assertThatThrownBy(() -> Router.start(config, "test"))
        .isInstanceOf(StartException.class)
        .hasMessage("workers: 2 (expected: at most 1, max-workers)");
  }
}

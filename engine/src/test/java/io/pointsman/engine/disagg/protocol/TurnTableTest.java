package io.pointsman.engine.disagg.protocol;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.TestFleet;
import io.pointsman.engine.disagg.plan.RawJson;
import io.pointsman.engine.fleet.Worker;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class TurnTableTest {
  private static final RawJson TEN_BYTES = RawJson.of("{\"a\":1234}");

  private final TestFleet fleet = TestFleet.of(1);
  private final Worker decode = fleet.worker(0);

  private TurnTable table(int most, long bytes, Duration ttl) {
    return new TurnTable(ttl, most, bytes, fleet::now);
  }

  @Test
  void theOldestGivesWayWhenThereAreTooMany() {
    TurnTable table = table(2, 1000, Duration.ofHours(1));
    table.put("a", decode, TEN_BYTES);
    table.put("b", decode, TEN_BYTES);
    table.put("a", decode, TEN_BYTES);
    table.put("c", decode, TEN_BYTES);

    assertThat(table.take("b")).isNull();
    assertThat(table.take("a")).isEqualTo(TEN_BYTES);
    assertThat(table.take("c")).isEqualTo(TEN_BYTES);
  }

  @Test
  void theOldestGivesWayWhenTheyAreTooLarge() {
    TurnTable table = table(100, 25, Duration.ofHours(1));
    table.put("a", decode, TEN_BYTES);
    table.put("b", decode, TEN_BYTES);
    table.put("c", decode, TEN_BYTES);
    assertThat(table.take("a")).isNull();
    assertThat(table.size()).isEqualTo(2);

    table.put("d", decode, RawJson.of("\"" + "x".repeat(30) + "\""));
    assertThat(table.take("d")).isNull();
    assertThat(table.take("b")).isEqualTo(TEN_BYTES);
    assertThat(table.take("c")).isEqualTo(TEN_BYTES);
    table.put("e", decode, TEN_BYTES);
    table.put("f", decode, TEN_BYTES);
    assertThat(table.size()).isEqualTo(2);
  }

  @Test
  void withoutATimeToLiveNothingIsKept() {
    TurnTable table = table(2, 1000, Duration.ZERO);
    table.put("a", decode, TEN_BYTES);

    assertThat(table.size()).isZero();
  }

  @Test
  void longNamesAreNotKept() {
    TurnTable table = table(2, 1000, Duration.ofHours(1));
    table.put("x".repeat(257), decode, TEN_BYTES);

    assertThat(table.size()).isZero();
  }
}

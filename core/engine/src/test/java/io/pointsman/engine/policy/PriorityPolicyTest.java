package io.pointsman.engine.policy;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.TestFleet;
import io.pointsman.engine.fleet.Worker;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PriorityPolicyTest {
  private final TestFleet fleet = TestFleet.of(3);
  private final PriorityPolicy policy = new PriorityPolicy(PrioritySettings.DEFAULTS, fleet.random);
  private final Picker picker = policy.picker(fleet.pool());

  private Worker pick(Map<String, String> headers, Map<String, Object> body) {
    RoutingRequest request =
        RoutingRequest.builder().fields(new RequestFields("/", headers, body, true)).build();
    return requireNonNull(picker.pick(request, fleet.now()));
  }

  @Test
  void importantRequestsGoToTheLeastLoadedWorker() {
    fleet.load(fleet.worker(0), 2);
    fleet.load(fleet.worker(2), 1);
    for (int i = 0; i < 6; i++) {
      assertThat(pick(Map.of(), Map.of("priority", -1L))).isSameAs(fleet.worker(1));
    }
  }

  @Test
  void othersTakeTurnsAtAnyLoad() {
    fleet.load(fleet.worker(0), 9);
    Set<Worker> used = new HashSet<>();
    for (int i = 0; i < 3; i++) {
      used.add(pick(Map.of(), Map.of("priority", 0L)));
    }
    assertThat(used).hasSize(3);
  }

  @ParameterizedTest
  @CsvSource({"-3, 5, -3", "'', 5, 5", "soon, 5, 5", "'', 1.5, 7", " 4 , '', 4"})
  void theHeaderPrecedesTheBody(String header, String body, int priority) {
    Map<String, Object> fields =
        body.isEmpty()
            ? Map.of()
            : Map.of("p", body.contains(".") ? (Object) Double.valueOf(body) : Long.valueOf(body));
    assertThat(
            new PrioritySettings("X-P", "p", 7, 0)
                .of(new RequestFields("/", Map.of("x-p", header), fields, true)))
        .isEqualTo(priority);
  }

  @Test
  void onlyItsHeaderAndItsFieldAreRead() {
    assertThat(policy.wanted())
        .isEqualTo(new WantedFields(Set.of("x-request-priority"), Set.of("priority")));
  }
}

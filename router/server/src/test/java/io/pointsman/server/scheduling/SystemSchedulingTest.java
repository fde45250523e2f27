package io.pointsman.server.scheduling;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.env.LargePages;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SystemSchedulingTest {
  private final List<Long> asked = new ArrayList<>();

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void newIndexesGetLargePagesWhileTheyAreSwitchedOn(boolean first) {
    SystemScheduling scheduling = new SystemScheduling(first, (bytes, _) -> asked.add(bytes));
    LargePages pages = scheduling.largePages();
    for (boolean enabled : new boolean[] {first, !first, first}) {
      scheduling.use(enabled);
      asked.clear();
      pages.find(1, _ -> {});
      assertThat(asked.isEmpty()).isEqualTo(!enabled);
    }
  }
}

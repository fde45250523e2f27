package io.pointsman.engine.policy.tier;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class RecentMapTest {
  private final RecentMap<Integer, String> map = new RecentMap<>(4);

  private void fill(int from, int to) {
    IntStream.range(from, to).forEach(i -> map.put(i, "v" + i));
  }

  @Test
  void unreadEntriesAreEvictedInInsertionOrder() {
    fill(0, 6);

    assertThat(map.size()).isEqualTo(4);
    assertThat(map.get(1)).isNull();
    assertThat(map.get(2)).isEqualTo("v2");
  }

  @Test
  void readEntriesStayWhileOthersAreEvicted() {
    fill(0, 4);
    for (int i = 4; i < 1_000; i++) {
      assertThat(map.get(0)).isEqualTo("v0");
      map.put(i, "v" + i);
    }
    assertThat(map.size()).isEqualTo(4);
  }

  @Test
  void theBoundHoldsEvenIfEverythingIsRead() {
    RecentMap<Integer, String> large = new RecentMap<>(100);
    for (int i = 0; i < 1_000; i++) {
      large.put(i, "v" + i);
      for (int j = 0; j <= i; j++) {
        large.get(j);
      }
      assertThat(large.size()).isEqualTo(Math.min(i + 1, 100));
    }
  }

  @Test
  void replacingAValueEvictsNothing() {
    fill(0, 4);
    map.put(0, "new");

    assertThat(map.get(0)).isEqualTo("new");
    assertThat(map.size()).isEqualTo(4);
    assertThat(map.get(1)).isEqualTo("v1");
  }
}

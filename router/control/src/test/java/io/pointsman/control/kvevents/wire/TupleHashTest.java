package io.pointsman.control.kvevents.wire;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class TupleHashTest {
  private static long of(int... items) {
    return TupleHash.of(items, items.length);
  }

  /** Values of CPython 3.11. */
  @Test
  void tuplesHaveTheHashesOfPython() {
    assertThat(of(5)).isEqualTo(-7813438383599366905L);
    assertThat(of(151_643)).isEqualTo(-3395892561890666669L);
    assertThat(of(1, 2, 3, 4)).isEqualTo(590899387183067792L);
    assertThat(of(IntStream.range(100, 116).toArray())).isEqualTo(2035755034271021845L);
  }

  @Test
  void onlyTheFirstItemsCount() {
    assertThat(TupleHash.of(new int[] {1, 2, 3, 4, 5}, 4)).isEqualTo(of(1, 2, 3, 4));
  }
}

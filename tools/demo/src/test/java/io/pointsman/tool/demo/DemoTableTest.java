package io.pointsman.tool.demo;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import org.junit.jupiter.api.Test;

class DemoTableTest {
  private static final List<DemoTable.Row> ROWS =
      List.of(
          new DemoTable.Row("engine-1", 3, 120, 81.4, 38.2),
          new DemoTable.Row("engine-10", 0, 0, Double.NaN, Double.NaN));

  private final StringWriter out = new StringWriter();

  private DemoScreen screen(boolean terminal) {
    return new DemoScreen(new PrintWriter(out), terminal);
  }

  @Test
  void columnsAreAlignedWithTheirHeadings() {
    assertThat(DemoTable.table(ROWS))
        .containsExactly(
            "  worker      in flight      served   cache hit    TTFT p50",
            "  engine-1            3         120        81 %       38 ms",
            "  engine-10           0           0           -           -");
  }

  @Test
  void aPlainLineSaysTheSame() {
    assertThat(DemoTable.line(7, ROWS.getFirst()))
        .isEqualTo(
            "  7 s  engine-1   in flight   3  served   120  cache hit  81 %  TTFT p50   38 ms");
  }

  @Test
  void aPipeGetsPlainLinesOnly() {
    try (DemoScreen screen = screen(false)) {
      screen.show(1, ROWS, "");
      screen.show(2, ROWS, "");
    }
    assertThat(out.toString().lines()).hasSize(4).noneMatch(line -> line.contains("\033"));
  }

  @Test
  void aTerminalIsRedrawnInPlaceAndGetsItsCursorBack() {
    try (DemoScreen screen = screen(true)) {
      screen.show(1, ROWS, "");
      screen.show(2, ROWS, "");
    }
    assertThat(out.toString())
        .startsWith("\033[?25l  worker")
        .containsOnlyOnce("\033[3A  worker")
        .endsWith("\033[?25h");
  }

  @Test
  void anUnusedTerminalIsNotChanged() {
    try (DemoScreen _ = screen(true)) {
      assertThat(out.toString()).isEmpty();
    }
    assertThat(out.toString()).isEmpty();
  }

  @Test
  void aFooterIsPartOfTheTable() {
    try (DemoScreen screen = screen(true)) {
      screen.show(1, ROWS, "leaks 0");
      screen.show(2, ROWS, "leaks 0");
    }
    assertThat(out.toString()).containsOnlyOnce("\033[4A  worker").contains("  leaks 0");
    out.getBuffer().setLength(0);
    try (DemoScreen screen = screen(false)) {
      screen.show(3, ROWS, "leaks 0");
    }
    assertThat(out.toString()).endsWith("  3 s  leaks 0" + System.lineSeparator());
  }
}

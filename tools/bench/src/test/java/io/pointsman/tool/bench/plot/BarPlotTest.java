package io.pointsman.tool.bench.plot;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;

final class BarPlotTest {
  @Test
  void theLargestValueOfAPanelHasTheLongestBar() {
    String svg =
        new BarPlot("a < b", List.of("one", "two"))
            .row(new BarPlot.Row("x", true, List.of(10.0, 200.0)))
            .row(new BarPlot.Row("y", false, List.of(5.0, 0.0)))
            .svg();

    assertThat(svg).startsWith("<svg").endsWith("</svg>\n").contains("a &lt; b");
    assertThat(svg).containsOnlyOnce("width=\"80.0\"").containsOnlyOnce("width=\"0.0\"");
    assertThat(svg.split("width=\"160.0\"", -1)).hasSize(3);
  }

  @Test
  void eachPanelNeedsAValue() {
    assertThatThrownBy(
            () -> new BarPlot("t", List.of("one")).row(new BarPlot.Row("x", true, List.of())))
        .hasMessage("x: 0 values (expected: 1)");
  }
}

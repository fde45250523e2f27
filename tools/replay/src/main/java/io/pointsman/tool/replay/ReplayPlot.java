package io.pointsman.tool.replay;

import io.pointsman.tool.replay.Svg.Anchor;
import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;

/** Bars of mean TTFT, p99 TTFT and hits for each policy at each rate, as one SVG. */
final class ReplayPlot {
  private static final int LEFT = 170;
  private static final int BAR = 14;
  private static final int GROUP_GAP = 22;
  private static final int PANEL = 230;
  private static final int TOP = 48;

  private ReplayPlot() {}

  static String svg(String trace, List<ReplayRow> rows) {
    int height = TOP + 20;
    double rate = Double.NaN;
    for (ReplayRow row : rows) {
      height += BAR + (row.rate() == rate ? 0 : GROUP_GAP);
      rate = row.rate();
    }
    Svg svg = new Svg();
    svg.title(10, 18, trace);
    panel(svg, rows, 0, "mean TTFT, ms", row -> row.result().ttftMean());
    panel(svg, rows, 1, "p99 TTFT, ms", row -> row.result().ttft(0.99));
    panel(svg, rows, 2, "prefix hits, %", row -> row.result().hit() * 100);
    return svg.drawn(LEFT + 3 * PANEL + 20, height);
  }

  private static void panel(
      Svg svg, List<ReplayRow> rows, int panel, String title, ToDoubleFunction<ReplayRow> of) {
    int x = LEFT + panel * PANEL;
    svg.text(x, 36, "font-weight=\"bold\"", Anchor.START, title);
    int y = TOP;
    double rate = Double.NaN;
    double most = 1;
    for (int i = 0; i < rows.size(); i++) {
      ReplayRow row = rows.get(i);
      if (row.rate() != rate) {
        rate = row.rate();
        most = most(rows, rate, of);
        y += GROUP_GAP;
        if (panel == 0) {
          svg.text(10, y - 6, String.format(Locale.ROOT, "%.2f requests/s", rate));
        }
      }
      double value = of.applyAsDouble(row);
      if (panel == 0) {
        svg.text(LEFT - 6, y + 10, "", Anchor.END, row.policy());
      }
      String colour = row.policy().equals("cost") ? "#d62728" : "#1f77b4";
      double length = value / most * (PANEL - 60);
      svg.rect(x, y, length, BAR - 3, "fill=\"%s\"".formatted(colour));
      svg.text(x + length + 4, y + 10, String.format(Locale.ROOT, "%.0f", value));
      y += BAR;
    }
  }

  private static double most(List<ReplayRow> rows, double rate, ToDoubleFunction<ReplayRow> of) {
    double most = 1e-9;
    for (ReplayRow row : rows) {
      most = row.rate() == rate ? Math.max(most, of.applyAsDouble(row)) : most;
    }
    return most;
  }
}

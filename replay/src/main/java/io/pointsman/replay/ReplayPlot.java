package io.pointsman.replay;

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
    StringBuilder svg = new StringBuilder();
    svg.append(
        """
        <svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" \
        font-family="sans-serif" font-size="11">
        <rect width="100%%" height="100%%" fill="white"/>
        <text x="10" y="18" font-size="14">%s</text>
        """
            .formatted(LEFT + 3 * PANEL + 20, height, escaped(trace)));
    panel(svg, rows, 0, "mean TTFT, ms", row -> row.result().ttftMean());
    panel(svg, rows, 1, "p99 TTFT, ms", row -> row.result().ttft(0.99));
    panel(svg, rows, 2, "prefix hits, %", row -> row.result().hit() * 100);
    return svg.append("</svg>\n").toString();
  }

  private static void panel(
      StringBuilder svg,
      List<ReplayRow> rows,
      int panel,
      String title,
      ToDoubleFunction<ReplayRow> of) {
    int x = LEFT + panel * PANEL;
    svg.append("<text x=\"%d\" y=\"36\" font-weight=\"bold\">%s</text>%n".formatted(x, title));
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
          svg.append(
              String.format(
                  Locale.ROOT, "<text x=\"10\" y=\"%d\">%.2f requests/s</text>%n", y - 6, rate));
        }
      }
      double value = of.applyAsDouble(row);
      if (panel == 0) {
        svg.append(
            "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>%n"
                .formatted(LEFT - 6, y + 10, escaped(row.policy())));
      }
      String colour = row.policy().equals("cost") ? "#d62728" : "#1f77b4";
      svg.append(
          String.format(
              Locale.ROOT,
              "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>"
                  + "<text x=\"%.1f\" y=\"%d\">%.0f</text>%n",
              x,
              y,
              value / most * (PANEL - 60),
              BAR - 3,
              colour,
              x + value / most * (PANEL - 60) + 4,
              y + 10,
              value));
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

  private static String escaped(String text) {
    return text.replace("&", "&amp;").replace("<", "&lt;");
  }
}

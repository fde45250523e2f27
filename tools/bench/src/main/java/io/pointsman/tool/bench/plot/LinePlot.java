package io.pointsman.tool.bench.plot;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Line plots one below the other with a common horizontal axis, as one SVG. Each vertical axis
 * starts at 0.
 */
public final class LinePlot {
  private static final int WIDTH = 860;
  private static final int PANEL = 120;
  private static final int LEFT = 70;
  private static final int RIGHT = 130;
  private static final int TOP = 34;
  private static final int GAP = 34;
  private static final List<String> COLOURS =
      List.of("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf");

  /**
   * One line.
   *
   * @param x values in the unit of the horizontal axis, ascending
   * @param y values on the vertical axis, one per x value
   */
  public record Line(String name, List<Double> x, List<Double> y) {
    public Line {
      x = List.copyOf(x);
      y = List.copyOf(y);
      if (x.size() != y.size()) {
        throw new IllegalArgumentException(
            name + ": " + y.size() + " values (expected: " + x.size() + ")");
      }
    }
  }

  private record Panel(String title, List<Line> lines) {}

  private final String title;
  private final String horizontal;
  private final List<Panel> panels = new ArrayList<>();

  /**
   * Creates a plot without panels.
   *
   * @param horizontal title of the horizontal axis, with its unit
   */
  public LinePlot(String title, String horizontal) {
    this.title = title;
    this.horizontal = horizontal;
  }

  /**
   * Adds a panel below the others.
   *
   * @param name title of the vertical axis, with its unit
   */
  public LinePlot panel(String name, Line... lines) {
    panels.add(new Panel(name, List.of(lines)));
    return this;
  }

  /** The plot as an SVG document. */
  public String svg() {
    int height = TOP + panels.size() * (PANEL + GAP) + 20;
    StringBuilder out = new StringBuilder();
    add(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\""
            + " font-family=\"sans-serif\" font-size=\"11\">%n"
            + "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>%n",
        WIDTH,
        height,
        WIDTH,
        height);
    text(out, LEFT, 18, "start", title);
    double right = largest(panels, true);
    for (int i = 0; i < panels.size(); i++) {
      panel(out, panels.get(i), TOP + i * (PANEL + GAP), right);
    }
    text(out, LEFT + plotWidth() / 2.0, height - 8, "middle", horizontal);
    return out.append("</svg>\n").toString();
  }

  private static double largest(List<Panel> panels, boolean horizontal) {
    return panels.stream()
        .flatMap(panel -> panel.lines().stream())
        .flatMap(line -> (horizontal ? line.x() : line.y()).stream())
        .mapToDouble(Double::doubleValue)
        .filter(Double::isFinite)
        .max()
        .orElse(1);
  }

  private static int plotWidth() {
    return WIDTH - LEFT - RIGHT;
  }

  private static void panel(StringBuilder out, Panel panel, int top, double right) {
    double most = nice(largest(List.of(panel), false));
    int bottom = top + GAP / 2 + PANEL;
    text(out, LEFT, top + 10, "start", panel.title());
    for (int tick = 0; tick <= 4; tick++) {
      double y = bottom - PANEL * tick / 4.0;
      line(out, LEFT, y, LEFT + plotWidth(), y, "#ddd");
      text(out, LEFT - 6, y + 4, "end", label(most * tick / 4));
      double x = LEFT + plotWidth() * tick / 4.0;
      text(out, x, bottom + 13, "middle", label(right * tick / 4));
    }
    for (int i = 0; i < panel.lines().size(); i++) {
      String colour = COLOURS.get(i % COLOURS.size());
      Line line = panel.lines().get(i);
      StringBuilder points = new StringBuilder();
      for (int p = 0; p < line.x().size(); p++) {
        if (Double.isFinite(line.y().get(p))) {
          add(
              points,
              "%.1f,%.1f ",
              LEFT + plotWidth() * line.x().get(p) / (right > 0 ? right : 1),
              bottom - PANEL * line.y().get(p) / most);
        }
      }
      add(
          out,
          "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.4\" points=\"%s\"/>%n",
          colour,
          points.toString().strip());
      int y = top + GAP / 2 + 12 + 16 * i;
      line(out, LEFT + plotWidth() + 10, y - 4, LEFT + plotWidth() + 28, y - 4, colour);
      text(out, LEFT + plotWidth() + 34, y, "start", line.name());
    }
  }

  /** Next larger value of 1, 2, 4 or 8 times a power of ten. */
  private static double nice(double value) {
    if (!(value > 0)) {
      return 1;
    }
    double unit = Math.pow(10, Math.floor(Math.log10(value)));
    for (double step : new double[] {1, 2, 4, 8}) {
      if (value <= step * unit) {
        return step * unit;
      }
    }
    return 10 * unit;
  }

  private static String label(double value) {
    String text = String.format(Locale.ROOT, "%.2f", value);
    return text.replaceAll("0+$", "").replaceAll("\\.$", "");
  }

  private static void line(
      StringBuilder out, double x1, double y1, double x2, double y2, String colour) {
    add(
        out,
        "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>%n",
        x1,
        y1,
        x2,
        y2,
        colour);
  }

  private static void text(StringBuilder out, double x, double y, String anchor, String text) {
    String safe = text.replace("&", "&amp;").replace("<", "&lt;");
    add(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>%n", x, y, anchor, safe);
  }

  @SuppressWarnings("AnnotateFormatMethod") // The annotation requires a further library.
  private static void add(StringBuilder out, String format, Object... values) {
    out.append(String.format(Locale.ROOT, format, values));
  }
}

package io.pointsman.tool.bench.plot;

import io.pointsman.tool.replay.Svg;
import io.pointsman.tool.replay.Svg.Anchor;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.IntStream;

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
    Svg out = new Svg();
    out.text(LEFT, 18, title);
    double right = largest(panels, true);
    for (int i = 0; i < panels.size(); i++) {
      panel(out, panels.get(i), TOP + i * (PANEL + GAP), right);
    }
    out.text(LEFT + plotWidth() / 2.0, height - 8, "", Anchor.MIDDLE, horizontal);
    return out.drawn(WIDTH, height);
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

  private static void panel(Svg out, Panel panel, int top, double right) {
    double most = nice(largest(List.of(panel), false));
    int bottom = top + GAP / 2 + PANEL;
    out.text(LEFT, top + 10, panel.title());
    for (int tick = 0; tick <= 4; tick++) {
      double y = bottom - PANEL * tick / 4.0;
      out.line(LEFT, y, LEFT + plotWidth(), y, stroke("#ddd"));
      out.text(LEFT - 6, y + 4, "", Anchor.END, label(most * tick / 4));
      double x = LEFT + plotWidth() * tick / 4.0;
      out.text(x, bottom + 13, "", Anchor.MIDDLE, label(right * tick / 4));
    }
    for (int i = 0; i < panel.lines().size(); i++) {
      String colour = COLOURS.get(i % COLOURS.size());
      Line line = panel.lines().get(i);
      int[] finite =
          IntStream.range(0, line.x().size())
              .filter(p -> Double.isFinite(line.y().get(p)))
              .toArray();
      out.polyline(
          IntStream.of(finite)
              .mapToDouble(p -> LEFT + plotWidth() * line.x().get(p) / (right > 0 ? right : 1))
              .toArray(),
          IntStream.of(finite).mapToDouble(p -> bottom - PANEL * line.y().get(p) / most).toArray(),
          stroke(colour) + " stroke-width=\"1.4\"");
      int y = top + GAP / 2 + 12 + 16 * i;
      out.line(LEFT + plotWidth() + 10, y - 4, LEFT + plotWidth() + 28, y - 4, stroke(colour));
      out.text(LEFT + plotWidth() + 34, y, line.name());
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

  private static String stroke(String colour) {
    return "stroke=\"" + colour + "\"";
  }
}

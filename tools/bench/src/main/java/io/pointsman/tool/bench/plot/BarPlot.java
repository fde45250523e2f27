package io.pointsman.tool.bench.plot;

import io.pointsman.tool.replay.Svg;
import io.pointsman.tool.replay.Svg.Anchor;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Horizontal bar charts side by side with common row names, as one SVG. */
public final class BarPlot {
  private static final int LEFT = 190;
  private static final int PANEL = 220;
  private static final int LABEL = 60;
  private static final int TOP = 56;
  private static final int STEP = 20;
  private static final int BAR = 14;

  /**
   * A row: one bar in each panel.
   *
   * @param own true to draw it in the colour of this project
   */
  public record Row(String name, boolean own, List<Double> values) {
    public Row {
      values = List.copyOf(values);
    }
  }

  private final String title;
  private final List<String> panels;
  private final List<Row> rows = new ArrayList<>();

  /**
   * Creates a plot without rows.
   *
   * @param panels titles of the panels, with units
   */
  public BarPlot(String title, List<String> panels) {
    this.title = title;
    this.panels = List.copyOf(panels);
  }

  /**
   * Adds a row.
   *
   * @throws IllegalArgumentException if the numbers of values and panels differ
   */
  public BarPlot row(Row row) {
    if (row.values().size() != panels.size()) {
      throw new IllegalArgumentException(
          "%s: %d values (expected: %d)".formatted(row.name(), row.values().size(), panels.size()));
    }
    rows.add(row);
    return this;
  }

  /** The plot as an SVG document. */
  public String svg() {
    int width = LEFT + panels.size() * PANEL + 20;
    int height = TOP + rows.size() * STEP + 16;
    Svg out =
        new Svg(
            "font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\" font-size=\"11\""
                + " fill=\"#222\"");
    out.text(16, 20, "font-size=\"14\" font-weight=\"bold\"", Anchor.START, title);
    for (int panel = 0; panel < panels.size(); panel++) {
      panel(out, panel);
    }
    return out.drawn(width, height);
  }

  private void panel(Svg out, int panel) {
    int x = LEFT + panel * PANEL;
    out.text(x, TOP - 12, "font-weight=\"bold\"", Anchor.START, panels.get(panel));
    double most = rows.stream().mapToDouble(row -> row.values().get(panel)).max().orElse(0);
    for (int i = 0; i < rows.size(); i++) {
      Row row = rows.get(i);
      int y = TOP + i * STEP;
      double value = row.values().get(panel);
      double length = most > 0 ? value / most * (PANEL - LABEL) : 0;
      if (panel == 0) {
        out.text(LEFT - 8, y + 11, "", Anchor.END, row.name());
      }
      String colour = row.own() ? "#c4501b" : "#7f9bb3";
      out.rect(x, y, length, BAR, "fill=\"" + colour + "\"");
      String label = String.format(Locale.ROOT, value < 100 ? "%.1f" : "%.0f", value);
      out.text(x + length + 5, y + 11, "fill=\"#444\"", Anchor.START, label);
    }
  }
}

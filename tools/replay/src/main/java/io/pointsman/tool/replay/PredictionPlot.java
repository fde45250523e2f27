package io.pointsman.tool.replay;

import io.pointsman.tool.replay.Svg.Anchor;
import io.pointsman.tool.replay.run.PredictionErrors;
import io.pointsman.tool.replay.run.PredictionErrors.Band;
import java.util.List;
import java.util.Locale;

/**
 * One row for each policy that predicts. Left: number of requests by predicted and measured time,
 * both logarithmic. Right: mean absolute error and bias by prediction.
 */
final class PredictionPlot {
  private static final int LEFT = 60;
  private static final int TOP = 40;
  private static final int SIDE = 240;
  private static final int ROW = SIDE + 70;
  private static final int BARS_LEFT = LEFT + SIDE + 90;
  private static final int BARS_WIDTH = 380;

  /** Times from 10 ms to 100 s: four decades. */
  private static final double LEAST_MILLIS = 10;

  private static final int DECADES = 4;
  private static final int PER_DECADE = 15;
  private static final int CELLS = DECADES * PER_DECADE;
  private static final List<String> DECADE_NAMES =
      List.of("10 ms", "0.1 s", "1 s", "10 s", "100 s");

  private static final String FRAME = "fill=\"none\" stroke=\"#999\"";

  private PredictionPlot() {}

  static String svg(String trace, List<ReplayRow> rows) {
    Svg svg = new Svg();
    svg.title(10, 18, trace);
    int top = TOP;
    for (ReplayRow row : rows) {
      PredictionErrors errors = row.result().predictions();
      if (!errors.isEmpty()) {
        String what =
            String.format(
                Locale.ROOT,
                "%s, %.2f requests/s: mean absolute error %.0f ms, bias %+.0f ms",
                row.policy(),
                row.rate(),
                errors.meanAbsolute(),
                errors.bias());
        svg.text(LEFT, top, "font-weight=\"bold\"", Anchor.START, what);
        cells(svg, errors, top + 12);
        bars(svg, errors.bands(), top + 12);
        top += ROW;
      }
    }
    return svg.drawn(BARS_LEFT + BARS_WIDTH + 30, top);
  }

  private static void cells(Svg svg, PredictionErrors errors, int top) {
    svg.rect(LEFT, top, SIDE, SIDE, FRAME);
    double cell = (double) SIDE / CELLS;
    int[][] counts = errors.cells(LEAST_MILLIS, PER_DECADE, CELLS);
    for (int predicted = 0; predicted < CELLS; predicted++) {
      for (int measured = 0; measured < CELLS; measured++) {
        int count = counts[predicted][measured];
        if (count > 0) {
          double shade = Math.min(1, 0.15 + Math.log10(count) / 3);
          String style = String.format(Locale.ROOT, "fill=\"#1f77b4\" opacity=\"%.2f\"", shade);
          double x = LEFT + predicted * cell;
          svg.rect(x, top + SIDE - (measured + 1) * cell, cell, cell, style);
        }
      }
    }
    svg.line(LEFT, top + SIDE, LEFT + SIDE, top, "stroke=\"#d62728\"");
    for (int decade = 0; decade <= DECADES; decade++) {
      double at = (double) SIDE * decade / DECADES;
      svg.text(LEFT + at, top + SIDE + 14, "", Anchor.MIDDLE, DECADE_NAMES.get(decade));
      svg.text(LEFT - 6, top + SIDE - at + 4, "", Anchor.END, DECADE_NAMES.get(decade));
    }
    svg.text(LEFT + SIDE / 2.0, top + SIDE + 30, "", Anchor.MIDDLE, "predicted TTFT");
    svg.text(LEFT + 6, top + 14, "measured TTFT");
  }

  private static void bars(Svg svg, List<Band> bands, int top) {
    svg.rect(BARS_LEFT, top, BARS_WIDTH, SIDE, FRAME);
    double most = 1;
    for (Band band : bands) {
      most = Math.max(most, Math.max(relative(band.meanAbsolute(), band), bias(band)));
    }
    double zero = top + 24 + (SIDE - 40) * 0.5;
    double scale = (SIDE - 40) * 0.5 / most;
    svg.line(BARS_LEFT, zero, BARS_LEFT + BARS_WIDTH, zero, "stroke=\"#999\"");
    svg.text(
        BARS_LEFT + 6,
        top + 14,
        "mean absolute error (blue) and bias (red) in % of the mean prediction; figures in ms");
    double width = (double) BARS_WIDTH / Math.max(1, bands.size());
    for (int i = 0; i < bands.size(); i++) {
      Band band = bands.get(i);
      double x = BARS_LEFT + i * width;
      double error = relative(band.meanAbsolute(), band) * scale;
      double bias = bias(band) * scale;
      svg.rect(x + width * 0.15, zero - error, width * 0.3, error, "fill=\"#1f77b4\"");
      double from = band.bias() > 0 ? zero - bias : zero;
      svg.rect(x + width * 0.55, from, width * 0.3, bias, "fill=\"#d62728\"");
      String figures = String.format(Locale.ROOT, "%.0f, %+.0f", band.meanAbsolute(), band.bias());
      svg.text(x + width / 2, top + SIDE - 4, "", Anchor.MIDDLE, figures);
      String range = String.format(Locale.ROOT, "%.0f-%.0f", band.from(), band.to());
      svg.text(x + width / 2, top + SIDE + 14, "", Anchor.MIDDLE, range);
      String count = String.valueOf(band.requests());
      svg.text(x + width / 2, top + SIDE + 28, "fill=\"#777\"", Anchor.MIDDLE, count);
    }
    svg.text(BARS_LEFT - 8, top + SIDE + 14, "", Anchor.END, "ms");
    svg.text(BARS_LEFT - 8, top + SIDE + 28, "fill=\"#777\"", Anchor.END, "requests");
  }

  /** Converts to percent of the band's mean prediction. */
  private static double relative(double millis, Band band) {
    return band.predicted() == 0 ? 0 : 100 * Math.abs(millis) / band.predicted();
  }

  private static double bias(Band band) {
    return relative(band.bias(), band);
  }
}

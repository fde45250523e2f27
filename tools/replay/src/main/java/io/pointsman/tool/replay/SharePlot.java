package io.pointsman.tool.replay;

import io.pointsman.tool.replay.Svg.Anchor;
import io.pointsman.tool.replay.run.Presence;
import io.pointsman.tool.replay.run.TimeLine;
import java.util.List;
import java.util.Locale;

/**
 * For each row, the tokens computed by each engine per window relative to the mean, and the mean
 * time to first token below. Engines that joined or left are drawn in colour.
 */
final class SharePlot {
  private static final int LEFT = 60;
  private static final int WIDTH = 700;
  private static final int TOP = 40;
  private static final int SHARES = 130;
  private static final int TIMES = 70;
  private static final int ROW = SHARES + TIMES + 80;

  /** Maximum share drawn; larger ones are drawn at this value. */
  private static final double MOST_SHARE = 3;

  private static final String FRAME = "fill=\"none\" stroke=\"#999\"";
  private static final List<String> COLOURS = List.of("#d62728", "#1f77b4", "#2ca02c", "#9467bd");

  private SharePlot() {}

  static String svg(String trace, List<ReplayRow> rows, double windowSeconds) {
    Svg svg = new Svg();
    svg.title(10, 18, trace);
    for (int i = 0; i < rows.size(); i++) {
      ReplayRow row = rows.get(i);
      TimeLine line = row.result().timeLine(windowSeconds);
      int top = TOP + i * ROW;
      String rate = String.format(Locale.ROOT, "%s, %.2f requests/s", row.policy(), row.rate());
      svg.text(LEFT, top, "font-weight=\"bold\"", Anchor.START, rate);
      shares(svg, line, top + 8);
      times(svg, line, top + 8 + SHARES + 14);
    }
    return svg.drawn(LEFT + WIDTH + 30, TOP + rows.size() * ROW);
  }

  private static void shares(Svg svg, TimeLine line, int top) {
    svg.rect(LEFT, top, WIDTH, SHARES, FRAME);
    svg.text(12, top + 10, "share");
    for (int share = 0; share <= MOST_SHARE; share++) {
      double y = shareY(top, share);
      svg.text(LEFT - 6, y + 4, "", Anchor.END, String.valueOf(share));
      svg.line(LEFT, y, LEFT + WIDTH, y, "stroke=\"#eee\"");
    }
    int coloured = 0;
    for (int engine = 0; engine < line.engines().size(); engine++) {
      Presence presence = line.engines().get(engine);
      double[] y = new double[line.windows()];
      for (int window = 0; window < y.length; window++) {
        y[window] = shareY(top, Math.min(MOST_SHARE, line.share(engine, window)));
      }
      if (presence.throughout()) {
        svg.polyline(middles(line), y, "stroke=\"#bbb\"");
      } else {
        String colour = COLOURS.get(coloured % COLOURS.size());
        svg.polyline(middles(line), y, "stroke=\"%s\" stroke-width=\"2\"".formatted(colour));
        svg.text(
            LEFT + 8 + coloured++ * 90,
            top + 14,
            "fill=\"%s\"".formatted(colour),
            Anchor.START,
            "engine " + presence.engine());
      }
    }
  }

  private static double shareY(int top, double share) {
    return top + SHARES * (1 - share / MOST_SHARE);
  }

  private static void times(Svg svg, TimeLine line, int top) {
    double most = 1;
    double[] y = new double[line.windows()];
    for (int window = 0; window < y.length; window++) {
      y[window] = line.ttftMean(window);
      most = Double.isNaN(y[window]) ? most : Math.max(most, y[window]);
    }
    for (int window = 0; window < y.length; window++) {
      y[window] = top + TIMES * (1 - y[window] / most);
    }
    svg.rect(LEFT, top, WIDTH, TIMES, FRAME);
    svg.text(12, top + 10, "TTFT");
    svg.text(LEFT - 6, top + 24, "", Anchor.END, String.format(Locale.ROOT, "%.0f ms", most));
    svg.text(LEFT - 6, top + TIMES, "", Anchor.END, "0");
    svg.polyline(middles(line), y, "stroke=\"black\"");
    double length = line.windows() * line.windowSeconds();
    for (int part = 0; part <= 4; part++) {
      String at = String.format(Locale.ROOT, "%.0f s", length * part / 4);
      svg.text(LEFT + WIDTH * part / 4.0, top + TIMES + 14, "", Anchor.MIDDLE, at);
    }
  }

  private static double[] middles(TimeLine line) {
    double[] x = new double[line.windows()];
    for (int window = 0; window < x.length; window++) {
      x[window] = LEFT + WIDTH * (window + 0.5) / x.length;
    }
    return x;
  }
}

package io.pointsman.tool.bench.proxies;

import io.pointsman.tool.bench.contender.Contender;
import io.pointsman.tool.replay.Svg;
import io.pointsman.tool.replay.Svg.Anchor;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.OptionalDouble;

/**
 * Medians as SVG: one panel of horizontal bars per workload. The scale is logarithmic, because
 * contenders differ by factors of hundreds.
 */
final class Plot {
  private static final int WIDTH = 860;
  private static final int LEFT = 190;
  private static final int RIGHT = 110;
  private static final int BAR = 16;
  private static final int STEP = 20;
  private static final int PANEL_HEAD = 46;
  private static final int PANEL_GAP = 22;

  private record Bar(String name, double value, String label) {}

  private final Svg out =
      new Svg(
          "font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\" font-size=\"12\""
              + " fill=\"#222\"");
  private int y = 40;

  private Plot() {}

  static String svg(
      String title, List<Workload> workloads, List<Contender> contenders, Results results) {
    Plot plot = new Plot();
    plot.out.text(16, 26, "font-size=\"17\" font-weight=\"bold\"", Anchor.START, title);
    for (Workload workload : workloads) {
      List<Bar> bars = bars(workload, contenders, results);
      if (!bars.isEmpty()) {
        plot.panel(workload, bars);
      }
    }
    return plot.out.drawn(WIDTH, plot.y + 10);
  }

  private static List<Bar> bars(Workload workload, List<Contender> contenders, Results results) {
    List<Bar> bars = new ArrayList<>();
    MeasuredMetric metric = workload.kind().leading();
    for (Contender contender : contenders) {
      OptionalDouble value = results.median(workload.name(), contender.name(), metric);
      if (value.isPresent() && value.getAsDouble() > 0) {
        String label = metric.format(value.getAsDouble());
        bars.add(new Bar(contender.name(), value.getAsDouble(), label));
      }
    }
    return bars;
  }

  private void panel(Workload workload, List<Bar> bars) {
    out.text(16, y + 18, "font-size=\"13\" font-weight=\"bold\"", Anchor.START, workload.title());
    MeasuredMetric metric = workload.kind().leading();
    out.text(
        16,
        y + 34,
        "fill=\"#666\" font-size=\"11\"",
        Anchor.START,
        metric.title() + ": " + metric.meaning());
    y += PANEL_HEAD;
    // The axis covers whole decades around all values.
    double low = Math.floor(Math.log10(bars.stream().mapToDouble(Bar::value).min().orElse(1)) - .2);
    double high = Math.ceil(Math.log10(bars.stream().mapToDouble(Bar::value).max().orElse(1)));
    double perDecade = (WIDTH - LEFT - RIGHT) / Math.max(1, high - low);
    for (int decade = 0; decade <= Math.max(1, high - low); decade++) {
      double x = LEFT + decade * perDecade;
      double bottom = y + bars.size() * STEP;
      out.line(x, y, x, bottom, "stroke=\"#e4e4e4\"");
      out.text(
          x,
          bottom + 13,
          "fill=\"#888\" font-size=\"10\"",
          Anchor.MIDDLE,
          power((int) low + decade));
    }
    for (Bar bar : bars) {
      double length = (Math.log10(bar.value()) - low) * perDecade;
      String color = bar.name().startsWith("pointsman") ? "#c4501b" : "#7f9bb3";
      out.text(LEFT - 8, y + 13, "", Anchor.END, bar.name());
      out.rect(LEFT, y + 1, length, BAR, "fill=\"" + color + "\"");
      out.text(LEFT + length + 6, y + 13, "fill=\"#444\"", Anchor.START, bar.label());
      y += STEP;
    }
    y += PANEL_GAP;
  }

  private static String power(int exponent) {
    return exponent >= 0 && exponent <= 9
        ? String.format(Locale.ROOT, "%,.0f", Math.pow(10, exponent))
        : String.format(Locale.ROOT, "%s", Math.pow(10, exponent));
  }
}

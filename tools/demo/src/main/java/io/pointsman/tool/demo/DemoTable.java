package io.pointsman.tool.demo;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Formats the state of workers as a table or as plain lines. */
final class DemoTable {
  private DemoTable() {}

  /**
   * One worker at one moment, or the totals.
   *
   * @param hitPercent share of prompt tokens found in the prefix cache; NaN without lookups
   * @param ttftMillis median of the latest times to first token; NaN without any
   */
  record Row(String name, int inFlight, long served, double hitPercent, double ttftMillis) {}

  /** A table with headings, one text per line. */
  static List<String> table(List<Row> rows) {
    int width = rows.stream().mapToInt(row -> row.name().length()).max().orElse(0);
    width = Math.max(width, "worker".length());
    List<String> lines = new ArrayList<>();
    lines.add(cells(width, "worker", "in flight", "served", "cache hit", "TTFT p50"));
    for (Row row : rows) {
      lines.add(
          cells(
              width,
              row.name(),
              Integer.toString(row.inFlight()),
              Long.toString(row.served()),
              percent(row.hitPercent()),
              millis(row.ttftMillis())));
    }
    return lines;
  }

  private static String cells(int width, String... cells) {
    StringBuilder line = new StringBuilder("  ");
    line.append(cells[0]).append(" ".repeat(width - cells[0].length()));
    for (int i = 1; i < cells.length; i++) {
      line.append(" ".repeat(Math.max(12 - cells[i].length(), 1))).append(cells[i]);
    }
    return line.toString();
  }

  /** The state of one worker as one line. */
  static String line(long second, Row row) {
    return String.format(
        Locale.ROOT,
        "%3d s  %-10s in flight %3d  served %5d  cache hit %5s  TTFT p50 %7s",
        second,
        row.name(),
        row.inFlight(),
        row.served(),
        percent(row.hitPercent()),
        millis(row.ttftMillis()));
  }

  static String percent(double value) {
    return Double.isNaN(value) ? "-" : String.format(Locale.ROOT, "%.0f %%", value);
  }

  static String millis(double value) {
    return Double.isNaN(value) ? "-" : String.format(Locale.ROOT, "%.0f ms", value);
  }
}

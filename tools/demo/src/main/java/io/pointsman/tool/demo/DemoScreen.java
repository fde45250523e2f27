package io.pointsman.tool.demo;

import java.io.Console;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Prints a table repeatedly: in a terminal at a fixed position with a hidden cursor, otherwise as
 * plain lines. Confined to one thread.
 */
final class DemoScreen implements AutoCloseable {
  private static final String HIDE_CURSOR = "\033[?25l";
  private static final String SHOW_CURSOR = "\033[?25h";
  private static final String CLEAR_LINE = "\033[K";

  private final PrintWriter out;
  private final boolean terminal;
  private int drawn;

  DemoScreen(PrintWriter out, boolean terminal) {
    this.out = out;
    this.terminal = terminal;
  }

  /** True if standard output is a terminal with cursor movement. */
  static boolean isTerminal() {
    String kind = System.getenv().getOrDefault("TERM", "dumb");
    return !kind.equals("dumb")
        && Optional.ofNullable(System.console()).map(Console::isTerminal).orElse(false);
  }

  /**
   * @param footer a line below the rows; empty: none
   */
  void show(long second, List<DemoTable.Row> rows, String footer) {
    if (terminal) {
      List<String> lines = new ArrayList<>(DemoTable.table(rows));
      if (!footer.isEmpty()) {
        lines.add("  " + footer);
      }
      redraw(lines);
    } else {
      rows.forEach(row -> out.println(DemoTable.line(second, row)));
      if (!footer.isEmpty()) {
        out.printf("%3d s  %s%n", second, footer);
      }
    }
    out.flush();
  }

  private void redraw(List<String> lines) {
    out.print(drawn == 0 ? HIDE_CURSOR : "\033[" + drawn + "A");
    lines.forEach(line -> out.print(line + CLEAR_LINE + System.lineSeparator()));
    drawn = lines.size();
  }

  /** Leaves the last table in place and shows the cursor. */
  @Override
  public void close() {
    if (terminal && drawn > 0) {
      out.print(SHOW_CURSOR);
      out.flush();
    }
  }
}

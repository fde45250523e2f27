package io.pointsman.tool.demo;

import java.io.PrintWriter;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** The demo's output: instructions, a table once a second, and a summary. */
public final class DemoShow {
  private final Demo demo;
  private final DemoSettings settings;
  private final PrintWriter out;

  public DemoShow(Demo demo, DemoSettings settings, PrintWriter out) {
    this.demo = demo;
    this.settings = settings;
    this.out = out;
  }

  /** Runs until the duration is over, {@code stop} is counted down, or the output is closed. */
  public void run(CountDownLatch stop) throws InterruptedException {
    greet();
    demo.beginTraffic(stop);
    boolean terminal = !settings.quiet() && DemoScreen.isTerminal();
    try (DemoScreen screen = new DemoScreen(out, terminal)) {
      for (long second = 1; !stop.await(1, TimeUnit.SECONDS); second++) {
        if (!settings.quiet()) {
          screen.show(second, demo.rows(), demo.handovers());
        }
        boolean over = !settings.duration().isZero() && second >= settings.duration().toSeconds();
        if (over || out.checkError()) {
          break;
        }
      }
    }
    String summary = demo.summary();
    out.println(settings.quiet() ? summary : System.lineSeparator() + summary);
    out.flush();
  }

  private void greet() {
    if (settings.quiet()) {
      out.println(demo.url());
    } else {
      out.printf(
          """
          Pointsman routes chats to %s, policy %s, at
            %s
          Send a request of your own:
            %s
          The fleet, and why each request goes where it goes, in a browser:
            %s
          Ctrl-C ends everything. Compare: ./pointsman demo --policy %s

          """,
          engines(),
          settings.policy(),
          demo.url(),
          demo.curl(),
          demo.pageUrl(),
          settings.policy().equals("round_robin") ? "cost" : "round_robin");
    }
    out.flush();
  }

  private String engines() {
    DemoSettings.Split split = settings.split();
    return split == null
        ? settings.engines() + " simulated engine" + (settings.engines() == 1 ? "" : "s")
        : split.prefills()
            + " prefill and "
            + split.decodes()
            + " decode engines that hand KV over by "
            + split.connector().label();
  }
}

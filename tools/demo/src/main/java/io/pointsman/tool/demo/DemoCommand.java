package io.pointsman.tool.demo;

import io.pointsman.config.key.RoutingKeys;
import io.pointsman.config.settings.LogSettings;
import io.pointsman.config.value.RawValue;
import io.pointsman.control.env.SystemTicker;
import io.pointsman.control.env.ThreadRandomSource;
import io.pointsman.observe.logging.LogSetup;
import io.pointsman.server.cli.Signals;
import io.pointsman.server.cli.VersionCommand;
import io.pointsman.server.wiring.StartException;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code pointsman demo}: simulated engines, router and traffic in one process. */
@Command(
    name = "demo",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Start simulated engines and a router in front of them. Send multi-turn chats with shared"
          + " prefixes at a low rate. Show the state of each engine once per second.",
      "",
      "  pointsman demo",
      "  pointsman demo --policy round_robin --duration 30",
      "  pointsman demo --pd 2x4 --kv-connector nixl",
      ""
    })
final class DemoCommand implements Callable<Integer> {
  private static final int USUAL_PORT = 30_000;

  @Spec private @Nullable CommandSpec spec;

  @Option(
      names = "--engines",
      paramLabel = "<n>",
      defaultValue = "4",
      description = "Number of simulated engines, 1 to 64. Default: ${DEFAULT-VALUE}.")
  private int engines;

  @Option(
      names = "--pd",
      paramLabel = "<PxD>",
      description = "Use prefill and decode engines, for example 2x4 (2 prefill, 4 decode).")
  private @Nullable String shape;

  @Option(
      names = "--kv-connector",
      paramLabel = "<name>",
      description = "With --pd: KV transfer protocol, with the names of 'engine'. Default: nixl.")
  private @Nullable String connector;

  @Option(
      names = "--policy",
      paramLabel = "<name>",
      defaultValue = "cost",
      description =
          "Policy that chooses a worker, with the names of 'serve'. With --pd, it chooses a prefill"
              + " worker. Default: ${DEFAULT-VALUE}.")
  private String policy = "";

  @Option(
      names = "--port",
      paramLabel = "<n>",
      description =
          "Port of the router. 0: any free port. Default: "
              + USUAL_PORT
              + ", or any free port if it is in use.")
  private @Nullable Integer port;

  @Option(
      names = "--rate",
      paramLabel = "<x>",
      defaultValue = "8",
      description = "Requests per second, above 0 to 1000. Default: ${DEFAULT-VALUE}.")
  private double rate;

  @Option(
      names = "--duration",
      paramLabel = "<seconds>",
      defaultValue = "0",
      description = "Duration in seconds. 0: until Ctrl-C. Default: ${DEFAULT-VALUE}.")
  private int seconds;

  @Option(
      names = "--plane",
      paramLabel = "<name>",
      defaultValue = "proxy",
      description =
          "Proxy that forwards requests: proxy (the router itself) or haproxy (HAProxy, which must"
              + " be installed). Default: ${DEFAULT-VALUE}.")
  private String plane = "";

  @Option(names = "--quiet", description = "Print only the URL and a summary at the end.")
  private boolean quiet;

  @Override
  public Integer call() throws InterruptedException {
    CountDownLatch stop = new CountDownLatch(1);
    Signals.onFirst(stop::countDown);
    PrintWriter err = spec().commandLine().getErr();
    Signals.onHangUp(
        () -> {
          err.println("SIGHUP: the demo has no configuration to read again; it goes on");
          err.flush();
        });
    LogSettings log = new LogSettings(LogSettings.Level.ERROR, LogSettings.Format.TEXT, "");
    PrintWriter out = spec().commandLine().getOut();
    DemoSettings settings = settings(port == null ? USUAL_PORT : port);
    try (LogSetup _ = LogSetup.start(log);
        Demo demo = start(settings)) {
      new DemoShow(demo, settings, out).run(stop);
    }
    return 0;
  }

  private Demo start(DemoSettings settings) {
    try {
      return Demo.start(
          settings, VersionCommand.version(), new SystemTicker(), new ThreadRandomSource());
    } catch (StartException e) {
      if (port != null) {
        throw e;
      }
      return Demo.start(
          settings(0), VersionCommand.version(), new SystemTicker(), new ThreadRandomSource());
    }
  }

  private DemoSettings settings(int onPort) {
    try {
      String name = RoutingKeys.POLICY.type().read(new RawValue.Scalar(policy, "--policy"));
      Duration duration = Duration.ofSeconds(seconds);
      return new DemoSettings(engines, name, onPort, rate, duration, quiet, split(), plane());
    } catch (IllegalArgumentException e) {
      String message = String.valueOf(e.getMessage());
      boolean named = message.startsWith("--");
      throw new ParameterException(
          spec().commandLine(), named ? message : "--policy: " + message, e);
    }
  }

  private DemoSettings.@Nullable Split split() {
    if (shape == null && connector != null) {
      throw new IllegalArgumentException("--kv-connector: given without --pd");
    }
    return shape == null
        ? null
        : DemoSettings.Split.of(shape, connector == null ? "nixl" : connector);
  }

  private DemoSettings.DataPlane plane() {
    return switch (plane) {
      case "proxy" -> DemoSettings.DataPlane.PROXY;
      case "haproxy" -> DemoSettings.DataPlane.HAPROXY;
      default ->
          throw new IllegalArgumentException("--plane: " + plane + " (expected: proxy or haproxy)");
    };
  }

  private CommandSpec spec() {
    if (spec == null) {
      throw new IllegalStateException("spec: not set (expected: to be run by picocli)");
    }
    return spec;
  }
}

package io.pointsman.app.cli;

import io.pointsman.app.compat.VllmRouterLauncher;
import io.pointsman.app.config.PointsmanConfig;
import java.io.PrintWriter;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.PositionalParamSpec;

/** {@code pointsman vllm-router}: the router, started by another router's command line. */
final class VllmRouterCommand implements Callable<Integer> {
  private static final List<String> HELP = List.of("-h", "--help");

  private final CommandSpec spec = CommandSpec.wrapWithoutInspection(this);

  private VllmRouterCommand() {}

  static CommandLine commandLine() {
    CommandSpec spec = new VllmRouterCommand().spec;
    spec.name("vllm-router");
    spec.usageMessage()
        .description("Runs the router with the flags of vllm-router 0.1.17; docs/vllm-router.md.");
    spec.addPositional(
        PositionalParamSpec.builder()
            .paramLabel("<flags of vllm-router>")
            .arity("0..*")
            .type(List.class)
            .auxiliaryTypes(String.class)
            .build());
    // The flags are read by their own parser: their values reach up to the next flag.
    spec.parser().unmatchedOptionsArePositionalParams(true).trimQuotes(false);
    return new CommandLine(spec);
  }

  @Override
  public Integer call() throws InterruptedException {
    List<String> args = spec.commandLine().getParseResult().matchedPositionalValue(0, List.of());
    PrintWriter out = spec.commandLine().getOut();
    if (args.stream().anyMatch(HELP::contains)) {
      out.print(VllmRouterLauncher.help());
      out.flush();
      return 0;
    }
    return ServeRun.until(
        PointsmanConfig.from(VllmRouterLauncher.translate(args, System.getenv())), out);
  }
}

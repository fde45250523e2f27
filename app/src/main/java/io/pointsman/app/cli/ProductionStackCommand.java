package io.pointsman.app.cli;

import io.pointsman.app.compat.stack.ProductionStackLauncher;
import io.pointsman.app.config.PointsmanConfig;
import java.io.PrintWriter;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.PositionalParamSpec;

/** {@code pointsman production-stack}: the router, started by another router's command line. */
final class ProductionStackCommand implements Callable<Integer> {
  private static final List<String> HELP = List.of("-h", "--help");

  private final CommandSpec spec = CommandSpec.wrapWithoutInspection(this);

  private ProductionStackCommand() {}

  static CommandLine commandLine() {
    CommandSpec spec = new ProductionStackCommand().spec;
    spec.name("production-stack");
    spec.usageMessage()
        .description(
            "Runs the router with the flags of the vLLM production stack's router;"
                + " docs/production-stack.md.");
    spec.addPositional(
        PositionalParamSpec.builder()
            .paramLabel("<flags of production-stack>")
            .arity("0..*")
            .type(List.class)
            .auxiliaryTypes(String.class)
            .build());
    // The flags are read by their own parser, as those of vllm-router are.
    spec.parser().unmatchedOptionsArePositionalParams(true).trimQuotes(false);
    return new CommandLine(spec);
  }

  @Override
  public Integer call() throws InterruptedException {
    List<String> args = spec.commandLine().getParseResult().matchedPositionalValue(0, List.of());
    PrintWriter out = spec.commandLine().getOut();
    if (args.stream().anyMatch(HELP::contains)) {
      out.print(ProductionStackLauncher.help());
      out.flush();
      return 0;
    }
    if (args.contains("--version")) {
      out.println(VersionCommand.version());
      out.flush();
      return 0;
    }
    return ServeRun.until(
        PointsmanConfig.from(ProductionStackLauncher.translate(args, System.getenv())), out);
  }
}

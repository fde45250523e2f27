package io.pointsman.server.cli;

import io.pointsman.compat.productionstack.ProductionStackLauncher;
import io.pointsman.compat.vllmrouter.Launch;
import io.pointsman.compat.vllmrouter.VllmRouterLauncher;
import io.pointsman.config.ConfigException;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.function.Predicate;
import java.util.function.Supplier;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.PositionalParamSpec;

/** Runs the router with the command line of another router, which has its own parser. */
final class OtherRouterCommand implements Callable<Integer> {
  private static final List<String> HELP = List.of("-h", "--help");

  /** Translates flags and environment variables into a configuration. */
  @FunctionalInterface
  private interface Translator {
    Launch launch(List<String> args, Map<String, String> environment);
  }

  /**
   * The other command of this kind; a user may have given its flags to this command.
   *
   * @param router name of the router with these flags, for messages
   */
  private record Sibling(String command, String router, Predicate<String> knows) {}

  private final CommandSpec spec = CommandSpec.wrapWithoutInspection(this);
  private final Translator translator;
  private final Supplier<String> help;

  /** True if the other router has a {@code --version} flag. */
  private final boolean hasVersion;

  private final Predicate<String> knows;
  private final Sibling sibling;

  private OtherRouterCommand(
      Translator translator,
      Supplier<String> help,
      boolean hasVersion,
      Predicate<String> knows,
      Sibling sibling) {
    this.translator = translator;
    this.help = help;
    this.hasVersion = hasVersion;
    this.knows = knows;
    this.sibling = sibling;
  }

  /** {@code pointsman vllm-router}. */
  static CommandLine vllmRouter() {
    return new OtherRouterCommand(
            (args, environment) -> Launch.of(VllmRouterLauncher.translate(args, environment)),
            VllmRouterLauncher::help,
            false,
            VllmRouterLauncher::knows,
            new Sibling(
                "production-stack",
                "the production stack's router",
                ProductionStackLauncher::knows))
        .named(
            "vllm-router",
            "Run the router with the flags of vllm-router 0.1.17. See"
                + " docs/migrate/vllm-router.md.");
  }

  /** {@code pointsman production-stack}. */
  static CommandLine productionStack() {
    return new OtherRouterCommand(
            ProductionStackLauncher::launch,
            ProductionStackLauncher::help,
            true,
            ProductionStackLauncher::knows,
            new Sibling("vllm-router", "vllm-router 0.1.17", VllmRouterLauncher::knows))
        .named(
            "production-stack",
            "Run the router with the flags of the vLLM production stack's router. See"
                + " docs/migrate/production-stack.md.");
  }

  private CommandLine named(String name, String description) {
    spec.name(name);
    spec.usageMessage().description(description);
    spec.addPositional(
        PositionalParamSpec.builder()
            .paramLabel("<flags of " + name + ">")
            .arity("0..*")
            .type(List.class)
            .auxiliaryTypes(String.class)
            .build());
    // Flags of another router are parsed by FlagParser: values of some extend to the next flag.
    spec.parser().unmatchedOptionsArePositionalParams(true).trimQuotes(false);
    return new CommandLine(spec);
  }

  @Override
  public Integer call() throws InterruptedException {
    List<String> args = spec.commandLine().getParseResult().matchedPositionalValue(0, List.of());
    PrintWriter out = spec.commandLine().getOut();
    if (args.stream().anyMatch(HELP::contains)) {
      out.print(help.get());
      out.flush();
      return 0;
    }
    if (hasVersion && args.contains("--version")) {
      out.println(VersionCommand.version());
      out.flush();
      return 0;
    }
    return ServeRun.until(launch(args), () -> translator.launch(args, System.getenv()), out);
  }

  /**
   * Translates the flags, and points to the sibling command if they are its flags. Both routers'
   * programs have the same name, so users can confuse their command lines.
   */
  private Launch launch(List<String> args) {
    try {
      return translator.launch(args, System.getenv());
    } catch (ConfigException e) {
      List<String> strange =
          args.stream()
              .map(arg -> arg.replaceFirst("=.*", ""))
              .filter(name -> sibling.knows.test(name) && !knows.test(name))
              .distinct()
              .toList();
      if (strange.isEmpty()) {
        throw e;
      }
      List<String> problems = new ArrayList<>(e.problems());
      problems.add(
          String.join(", ", strange)
              + ": flags of "
              + sibling.router
              + " (expected: pointsman "
              + sibling.command
              + ")");
      throw new ConfigException(problems);
    }
  }
}

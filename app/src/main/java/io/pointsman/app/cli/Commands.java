package io.pointsman.app.cli;

import io.pointsman.app.config.ConfigException;
import io.pointsman.app.config.value.Nearest;
import io.pointsman.app.wiring.StartException;
import io.pointsman.sim.EngineCommand;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.UnmatchedArgumentException;

/** All commands of the program, one line each. */
public final class Commands {
  private Commands() {}

  /** The program's command line. */
  public static CommandLine root() {
    CommandLine root = new CommandLine(new RootCommand());
    root.addSubcommand("serve", ServeCommand.commandLine());
    root.addSubcommand("check-config", CheckConfigCommand.commandLine());
    root.addSubcommand("demo", new CommandLine(new DemoCommand()));
    root.addSubcommand("engine", new CommandLine(new EngineCommand()));
    root.addSubcommand("vllm-router", VllmRouterCommand.commandLine());
    root.addSubcommand("version", new CommandLine(new VersionCommand()));
    root.setParameterExceptionHandler((e, _) -> refuse(e));
    root.setExecutionExceptionHandler((e, command, _) -> failed(e, command));
    root.setUsageHelpAutoWidth(true);
    root.setExpandAtFiles(false);
    return root;
  }

  /** A wrong command line: says what is wrong and what was probably meant. */
  private static int refuse(ParameterException e) {
    CommandLine command = e.getCommandLine();
    String name = command.getCommandSpec().qualifiedName();
    PrintWriter err = command.getErr();
    if (e instanceof UnmatchedArgumentException unmatched && !unmatched.getUnmatched().isEmpty()) {
      String wrong = unmatched.getUnmatched().getFirst();
      boolean flag = wrong.startsWith("-");
      boolean command0 = !flag && !command.getSubcommands().isEmpty();
      String kind = flag ? "flag" : command0 ? "command" : "argument";
      String word = wrong.contains("=") ? wrong.substring(0, wrong.indexOf('=')) : wrong;
      err.println(
          name + ": " + word + ": unknown " + kind + Nearest.hint(word, names(command, flag)));
    } else {
      err.println(name + ": " + e.getMessage());
    }
    err.println("Try '" + name + " --help'.");
    err.flush();
    return ExitCode.USAGE;
  }

  private static List<String> names(CommandLine command, boolean flags) {
    CommandSpec spec = command.getCommandSpec();
    return new ArrayList<>(flags ? spec.optionsMap().keySet() : spec.subcommands().keySet());
  }

  private static int failed(Exception e, CommandLine command) throws Exception {
    String name = command.getCommandSpec().qualifiedName();
    PrintWriter err = command.getErr();
    switch (e) {
      case ConfigException wrong -> wrong.problems().forEach(p -> err.println(name + ": " + p));
      case StartException refused -> err.println(name + ": " + refused.getMessage());
      default -> throw e;
    }
    err.flush();
    return e instanceof ConfigException ? ExitCode.USAGE : ExitCode.SOFTWARE;
  }
}

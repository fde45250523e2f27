package io.pointsman.server.cli;

import io.pointsman.config.ConfigException;
import io.pointsman.config.key.FormerKeys;
import io.pointsman.config.value.Nearest;
import io.pointsman.server.wiring.StartException;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import picocli.CommandLine;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.UnmatchedArgumentException;

/** All commands of the program, one line each. */
public final class Commands {
  /** Commands of the tools, which the launcher starts on their own class path. */
  private static final List<String> TOOLS = List.of("demo", "engine", "replay", "bench");

  private Commands() {}

  /** The router's commands by name. */
  public static Map<String, Supplier<CommandLine>> makers() {
    Map<String, Supplier<CommandLine>> makers = new LinkedHashMap<>();
    makers.put("serve", ServeCommand::commandLine);
    makers.put("check-config", CheckConfigCommand::commandLine);
    makers.put("vllm-router", OtherRouterCommand::vllmRouter);
    makers.put("ray-serve", RayServeCommand::commandLine);
    makers.put("production-stack", OtherRouterCommand::productionStack);
    makers.put("haproxy", () -> new CommandLine(new HaproxyCommand()));
    makers.put("key", () -> new CommandLine(new KeyCommand()));
    makers.put("version", () -> new CommandLine(new VersionCommand()));
    return makers;
  }

  /** The command line with all commands. */
  public static CommandLine root() {
    return root(makers());
  }

  /**
   * The command line for these arguments. Contains only the command that they name, because the
   * flags of all commands take a tenth of the start time. Without a valid name it contains all
   * commands.
   */
  static CommandLine rootFor(String... args) {
    return rootFor(makers(), args);
  }

  /** The same of these commands. */
  public static CommandLine rootFor(Map<String, Supplier<CommandLine>> makers, String... args) {
    Supplier<CommandLine> named = args.length == 0 ? null : makers.get(args[0]);
    return root(named == null ? makers : Map.of(args[0], named));
  }

  /** A command line with these commands. */
  public static CommandLine root(Map<String, Supplier<CommandLine>> makers) {
    CommandLine root = new CommandLine(new RootCommand());
    makers.forEach((name, maker) -> root.addSubcommand(name, withVersion(maker.get())));
    root.setParameterExceptionHandler((e, _) -> refuse(e));
    root.setExecutionExceptionHandler((e, command, _) -> failed(e, command));
    root.setUsageHelpAutoWidth(true);
    root.setExpandAtFiles(false);
    // Writes directly to System.out; otherwise a closed reader goes unnoticed.
    root.setOut(new PrintWriter(System.out, true, System.out.charset()));
    return root;
  }

  /** Each command has the flag {@code --version}, because it has the standard flags of help. */
  private static CommandLine withVersion(CommandLine command) {
    command.getCommandSpec().versionProvider(new VersionCommand());
    command.getSubcommands().values().forEach(Commands::withVersion);
    return command;
  }

  /** Prints the problem of a wrong command line, with the nearest valid name. */
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
      String problem =
          FormerKeys.problemOfFlag(word)
              .orElseGet(
                  () -> word + ": unknown " + kind + Nearest.hint(word, names(command, flag)));
      err.println(name + ": " + problem);
    } else {
      err.println(name + ": " + e.getMessage());
    }
    err.println("Try '" + name + " --help'.");
    err.flush();
    return ExitCode.USAGE;
  }

  private static List<String> names(CommandLine command, boolean flags) {
    CommandSpec spec = command.getCommandSpec();
    List<String> names =
        new ArrayList<>(flags ? spec.optionsMap().keySet() : spec.subcommands().keySet());
    if (!flags && spec.parent() == null) {
      names.addAll(TOOLS);
    }
    return names;
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

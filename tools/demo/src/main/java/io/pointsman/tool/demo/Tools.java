package io.pointsman.tool.demo;

import io.pointsman.control.env.SystemTicker;
import io.pointsman.observe.logging.LogProvider;
import io.pointsman.server.cli.Commands;
import io.pointsman.tool.replay.ReplayCommand;
import io.pointsman.tool.sim.EngineCommand;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Supplier;
import picocli.CommandLine;

/**
 * The command line of the tools: the router's commands, and commands that the router never ships.
 */
public final class Tools {
  private Tools() {}

  /** Ends the process with the command's exit code: 0 success, 1 failure, 2 wrong command line. */
  public static void main(String[] args) {
    LogProvider.use();
    System.setProperty("picocli.disable.closures", "true");
    System.exit(Commands.rootFor(makers(), args).execute(args));
  }

  /** The command line with every command. */
  public static CommandLine root() {
    return Commands.root(makers());
  }

  private static Map<String, Supplier<CommandLine>> makers() {
    Map<String, Supplier<CommandLine>> makers = new LinkedHashMap<>(Commands.makers());
    makers.put("demo", () -> new CommandLine(new DemoCommand()));
    makers.put("engine", () -> new CommandLine(new EngineCommand()));
    makers.put("replay", () -> new CommandLine(new ReplayCommand(new SystemTicker())));
    return makers;
  }
}

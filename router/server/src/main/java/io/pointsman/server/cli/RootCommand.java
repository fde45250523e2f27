package io.pointsman.server.cli;

import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code pointsman} without a command. */
@Command(
    name = "pointsman",
    mixinStandardHelpOptions = true,
    versionProvider = VersionCommand.class,
    sortOptions = false,
    synopsisSubcommandLabel = "<command>",
    header = "Routes LLM requests to the engine that serves them best.",
    description = {
      "",
      "Start here:",
      "  pointsman demo",
      "      simulated engines, the router in front, live traffic",
      "  pointsman serve --workers http://10.0.0.1:8000,http://10.0.0.2:8000",
      "      the router in front of your engines",
      ""
    },
    commandListHeading = "%nCommands:%n",
    optionListHeading = "Flags:%n",
    footer = {
      "",
      "Tools beside the router: demo, engine, replay, bench.",
      "",
      "'pointsman <command> --help' shows the flags of a command."
    })
final class RootCommand implements Runnable {
  @Spec private @Nullable CommandSpec spec;

  @Override
  public void run() {
    if (spec != null) {
      CommandLine command = spec.commandLine();
      throw new ParameterException(
          command,
          "no command (expected: one of " + String.join(", ", spec.subcommands().keySet()) + ")");
    }
  }
}

package io.pointsman.tool.demo;

import static java.util.Objects.requireNonNull;

import io.pointsman.config.key.ConfigKeys;
import io.pointsman.config.key.Key;
import io.pointsman.testkit.GeneratedPage;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;

/** The page of flags lists every flag of every command, as the command line has it. */
class FlagsPageTest {
  /** Commands with flags of their own; the flags of other commands are configuration keys. */
  private static final List<String> OWN_FLAGS =
      List.of("demo", "engine", "replay", "haproxy", "key create");

  @Test
  void thePageListsTheFlagsAsTheyAre() throws IOException {
    new GeneratedPage("reference/flags.md").assertIs(page());
  }

  private static String page() {
    StringBuilder page = new StringBuilder();
    page.append(
        """
        # Flags

        The flags of the commands. `FlagsPageTest` generates this page from the command line.
        `./pointsman bench --help` shows the flags of `bench`.

        `pointsman vllm-router` and `pointsman production-stack` have the flags of those routers:
        see [vllm-router](../migrate/vllm-router.md#flags) and
        [production-stack](../migrate/production-stack.md#flags). They and `pointsman ray-serve`
        take the flags of `serve` too.

        ## serve and check-config

        | flag | key |
        |---|---|
        | `--config` | the configuration file (YAML); flags win over it |
        | `--all` | only `check-config`: print every key with its value |
        """);
    for (Key<?> key : ConfigKeys.all()) {
      page.append("| `").append(key.flag()).append("` | [`").append(key.path());
      page.append("`](configuration.md#").append(key.path().replace(".", "")).append(") |\n");
    }
    for (String name : OWN_FLAGS) {
      CommandLine command = Tools.root();
      for (String word : name.split(" ", -1)) {
        command = requireNonNull(command.getSubcommands().get(word), name);
      }
      page.append("\n## ").append(name).append("\n\n| flag | meaning |\n|---|---|\n");
      options(command.getCommandSpec(), page);
    }
    return page.toString();
  }

  private static void options(CommandSpec command, StringBuilder page) {
    for (OptionSpec option : command.options()) {
      if (!option.usageHelp() && !option.versionHelp() && !option.hidden()) {
        page.append("| `").append(String.join("`, `", option.names())).append("` | ");
        page.append(String.join(" ", option.description()).replace("|", "\\|")).append(" |\n");
      }
    }
  }
}

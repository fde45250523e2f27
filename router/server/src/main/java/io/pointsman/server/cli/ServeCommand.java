package io.pointsman.server.cli;

import java.nio.file.Path;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParseResult;

/** {@code pointsman serve}: runs the router until a signal stops it. */
final class ServeCommand implements Callable<Integer> {
  private final CommandSpec spec = CommandSpec.wrapWithoutInspection(this);

  private ServeCommand() {}

  static CommandLine commandLine() {
    CommandSpec spec = new ServeCommand().spec;
    spec.name("serve").mixinStandardHelpOptions(true);
    spec.usageMessage()
        .sortOptions(false)
        .abbreviateSynopsis(true)
        .description(
            "Run the router. Set keys in a file, with flags, or both. Flags override the file.",
            "See docs/reference/configuration.md for each key.",
            "",
            "  pointsman serve --workers http://10.0.0.1:8000,http://10.0.0.2:8000",
            "  pointsman serve --config router.yaml --port 8080",
            "",
            "SIGTERM or Ctrl-C: accept no new requests, let streams finish for up to"
                + " --drain-timeout, then exit with code 0. A second signal ends the router at"
                + " once.",
            "SIGHUP, POST /config/reload, or a change of the file: read the configuration again"
                + " and apply it without cutting a request. If it is wrong, or if a key changed"
                + " that needs a restart, the router logs the reason and applies nothing.");
    ConfigFlags.addTo(spec);
    return new CommandLine(spec);
  }

  @Override
  public Integer call() throws InterruptedException {
    ParseResult given = spec.commandLine().getParseResult();
    String file = given.matchedOptionValue("--config", "");
    return ServeRun.until(
        ConfigFlags.read(given),
        file.isEmpty() ? null : Path.of(file),
        () -> ConfigFlags.read(given),
        spec.commandLine().getOut());
  }
}

package io.pointsman.app.cli;

import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParseResult;

/** {@code pointsman serve}: the router, until it is told to stop. */
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
            "Runs the router. Everything can be set in a file, with flags, or both; flags win.",
            "docs/reference/configuration.md says more about each key.",
            "",
            "  pointsman serve --workers http://10.0.0.1:8000,http://10.0.0.2:8000",
            "  pointsman serve --config router.yaml --port 8080",
            "",
            "SIGTERM or Ctrl-C: takes no new requests, lets streams finish for --drain-timeout,"
                + " then ends with exit code 0; a second signal ends it at once.",
            "SIGHUP: reads the file again and takes over its workers and its log level; a change of"
                + " anything else is refused in the log, and nothing changes.");
    ConfigFlags.addTo(spec);
    return new CommandLine(spec);
  }

  @Override
  public Integer call() throws InterruptedException {
    ParseResult given = spec.commandLine().getParseResult();
    return ServeRun.until(
        ConfigFlags.read(given), () -> ConfigFlags.read(given), spec.commandLine().getOut());
  }
}

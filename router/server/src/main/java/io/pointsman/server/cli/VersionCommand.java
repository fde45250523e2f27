package io.pointsman.server.cli;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.IVersionProvider;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code pointsman version}. */
@Command(
    name = "version",
    mixinStandardHelpOptions = true,
    description = "Print the version of the router and of the Java runtime.")
public final class VersionCommand implements Runnable, IVersionProvider {
  @Spec private @Nullable CommandSpec spec;

  public static String version() {
    try (InputStream in = VersionCommand.class.getResourceAsStream("version.txt")) {
      return in == null ? "unknown" : new String(in.readAllBytes(), StandardCharsets.UTF_8).strip();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public String[] getVersion() {
    return new String[] {"pointsman " + version() + " (Java " + Runtime.version() + ")"};
  }

  @Override
  public void run() {
    if (spec != null) {
      spec.commandLine().getOut().println(getVersion()[0]);
      spec.commandLine().getOut().flush();
    }
  }
}

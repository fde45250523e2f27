package io.pointsman.app.cli;

import io.pointsman.app.logging.LogProvider;

/** Runs the command that is named first. */
public final class Main {
  private Main() {}

  /** Ends the process with the command's exit code: 0 well, 1 failed, 2 wrong command line. */
  public static void main(String[] args) {
    searchNoJars();
    System.exit(Commands.rootFor(args).execute(args));
  }

  /**
   * Names what libraries would look for in every jar of the class path. Opening all of them takes a
   * fifth of a start, and hardly any is needed, since the classes come from the archive.
   */
  private static void searchNoJars() {
    LogProvider.use();
    System.setProperty("picocli.disable.closures", "true");
  }
}

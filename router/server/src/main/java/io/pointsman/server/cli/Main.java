package io.pointsman.server.cli;

import io.pointsman.observe.logging.LogProvider;

/** Entry point of the program. */
public final class Main {
  private Main() {}

  /** Runs the named command and exits with its code: 0 success, 1 failure, 2 wrong command line. */
  public static void main(String[] args) {
    searchNoJars();
    System.exit(Commands.rootFor(args).execute(args));
  }

  /**
   * Disables the libraries' searches through all jars of the class path. Opening all jars takes a
   * fifth of the start time; nearly all classes come from the class archive.
   */
  private static void searchNoJars() {
    LogProvider.use();
    System.setProperty("picocli.disable.closures", "true");
  }
}

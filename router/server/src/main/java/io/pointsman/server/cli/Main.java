package io.pointsman.server.cli;

import io.pointsman.observe.logging.LogProvider;

/** Entry point of the program. */
public final class Main {
  private Main() {}

  /** Runs the named command and exits with its code: 0 success, 1 failure, 2 wrong command line. */
  public static void main(String[] args) {
    searchNoJars();
    refuseUnreadable(args);
    System.exit(Commands.rootFor(args).execute(args));
  }

  /**
   * Ends the program if the JVM could not decode an argument; each lost byte is U+FFFD. A model
   * name would otherwise name nothing.
   */
  private static void refuseUnreadable(String[] args) {
    for (String arg : args) {
      if (arg.indexOf('\ufffd') >= 0) {
        System.err.println(
            "pointsman: "
                + arg
                + ": bytes that are not "
                + System.getProperty("sun.jnu.encoding")
                + " (expected: UTF-8, and a UTF-8 locale such as LC_ALL=C.UTF-8)");
        System.exit(2);
      }
    }
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

package io.pointsman.app.cli;

/** Runs the command that is named first. */
public final class Main {
  private Main() {}

  /** Ends the process with the command's exit code: 0 well, 1 failed, 2 wrong command line. */
  public static void main(String[] args) {
    System.exit(Commands.rootFor(args).execute(args));
  }
}

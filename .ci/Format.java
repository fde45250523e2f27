import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * Checks every Java source of the project with google-java-format (--check), or rewrites those that git sees as changed (--write). Run by the build on JDK 25,
 * because the formatter parses with the compiler of the JDK it runs on.
 */
class Format {
  public static void main(String[] args) throws Exception {
    boolean check = !args[0].equals("--write");
    List<String> command =
        new ArrayList<>(List.of(ProcessHandle.current().info().command().orElseThrow(), "-XX:+UseSerialGC"));
    for (String name : List.of("api", "code", "file", "parser", "tree", "util")) {
      command.add("--add-exports=jdk.compiler/com.sun.tools.javac." + name + "=ALL-UNNAMED");
    }
    command.addAll(List.of("-jar", "target/tools/google-java-format.jar"));
    command.addAll(check ? List.of("--dry-run", "--set-exit-if-changed") : List.of("--replace"));
    int options = command.size();
    command.addAll(check ? sources() : changed());
    if (command.size() == options) {
      return;
    }
    int exit = new ProcessBuilder(command).inheritIO().start().waitFor();
    if (check && exit != 0) {
      System.err.println("The files above are not formatted. Run: mvn -N -Pformat validate");
    }
    System.exit(exit);
  }

  private static List<String> sources() throws IOException {
    try (Stream<Path> files = Files.walk(Path.of("."))) {
      return files.map(Path::toString).filter(Format::source).filter(f -> !f.contains("/target/")).sorted().toList();
    }
  }

  /** What git sees as changed or new; every source where there is no git. */
  private static List<String> changed() throws Exception {
    Process git = new ProcessBuilder("git", "status", "--porcelain", "-uall", "--no-renames").redirectErrorStream(true).start();
    String output = new String(git.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    if (git.waitFor() != 0) {
      return sources();
    }
    return output.lines().map(line -> line.substring(3)).filter(Format::source).filter(file -> Files.exists(Path.of(file))).toList();
  }

  private static boolean source(String file) {
    return file.endsWith(".java") && file.contains("/src/");
  }
}

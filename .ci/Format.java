import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Checks Java sources with google-java-format, or rewrites them (--write). Run by the build on JDK 25, because the formatter parses with the compiler of the
 * JDK it runs on. --check and --write read the sources that differ from the last commit in origin/main, or from the last commit if there is no
 * origin/main. --check-all, for test/full, reads every source. Without git, every mode reads every source.
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
    command.addAll(args[0].equals("--check-all") ? sources() : changed().orElseGet(Format::sources));
    if (command.size() == options) {
      return;
    }
    int exit = new ProcessBuilder(command).inheritIO().start().waitFor();
    if (check && exit != 0) {
      System.err.println("The files above are not formatted. Run: mvn -N -Pformat validate");
    }
    System.exit(exit);
  }

  private static List<String> sources() {
    try (Stream<Path> files = Files.walk(Path.of("."))) {
      return files.map(Path::toString).filter(Format::source).filter(f -> !f.contains("/target/")).sorted().toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The changed and new sources; empty without git. */
  private static Optional<List<String>> changed() throws InterruptedException {
    String base = git("merge-base", "HEAD", "origin/main").map(String::strip).orElse("HEAD");
    Optional<String> differs = git("diff", "--name-only", "--no-renames", "--diff-filter=d", "--relative", base);
    Optional<String> unknown = git("ls-files", "--others", "--exclude-standard");
    if (differs.isEmpty() || unknown.isEmpty()) {
      return Optional.empty();
    }
    return Optional.of((differs.get() + unknown.get()).lines().filter(Format::source).toList());
  }

  /** The output of git; empty if it fails or is not installed. */
  private static Optional<String> git(String... arguments) throws InterruptedException {
    List<String> command = new ArrayList<>(List.of("git", "-c", "core.quotePath=false"));
    command.addAll(List.of(arguments));
    try {
      Process git = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD).start();
      String output = new String(git.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      return git.waitFor() == 0 ? Optional.of(output) : Optional.empty();
    } catch (IOException e) {
      return Optional.empty();
    }
  }

  private static boolean source(String file) {
    return file.endsWith(".java") && file.contains("/src/");
  }
}

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Prints the number of tests of a build and a note (second argument). Reads the reports of Surefire that are not older than the start of the build (first
 * argument). Counts cases, because the totals of a report leave out classes with several parameters.
 */
class Counts {
  private static final Pattern CASE = Pattern.compile("<testcase |<failure[ >]|<error[ >]|<skipped[ />]");

  private int tests;
  private int failures;
  private int skipped;

  public static void main(String[] args) throws IOException {
    Counts counts = new Counts();
    for (Path report : reports(Instant.parse(args[0]))) {
      counts.add(Files.readString(report));
    }
    System.out.println("Tests: " + counts.tests + ", failures: " + counts.failures + ", skipped: " + counts.skipped);
    if (args.length > 1 && !args[1].isBlank()) {
      System.out.println(args[1]);
    }
  }

  private static List<Path> reports(Instant from) throws IOException {
    try (Stream<Path> files = Files.walk(Path.of("."), 6)) {
      return files
          .filter(file -> file.getParent() != null && file.getParent().endsWith(Path.of("target", "surefire-reports")))
          .filter(file -> file.getFileName().toString().matches("TEST-.*\\.xml"))
          .filter(file -> !file.toFile().isDirectory() && file.toFile().lastModified() >= from.toEpochMilli())
          .toList();
    }
  }

  private void add(String report) {
    Matcher found = CASE.matcher(report);
    while (found.find()) {
      String what = found.group();
      if (what.startsWith("<testcase")) {
        tests++;
      } else if (what.startsWith("<skipped")) {
        skipped++;
      } else {
        failures++;
      }
    }
  }
}

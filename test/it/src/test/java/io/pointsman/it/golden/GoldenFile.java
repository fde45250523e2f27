package io.pointsman.it.golden;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * A committed text that holds behaviour still. A difference fails the test. The system property
 * {@code pointsman.write-golden} writes the present behaviour instead.
 */
final class GoldenFile {
  /** The folder of all golden files. */
  static final Path DIRECTORY =
      Path.of(System.getProperty("pointsman.root", ".."))
          .resolve("test/it/src/test/resources/golden");

  private static final String COMMAND =
      "mvn -pl test/it -am test -Dtest='Golden*Test' -Dsurefire.failIfNoSpecifiedTests=false"
          + " -Dextra.test.args=-Dpointsman.write-golden=true";

  /** Most lines of each side in a message, and most characters of a line. */
  private static final int MOST_LINES = 8;

  private static final int MOST_CHARACTERS = 160;

  /** Characters in front of the first difference in a line. */
  private static final int MOST_BEFORE = 40;

  private GoldenFile() {}

  /**
   * Compares {@code present} with the committed text, or writes it with the switch.
   *
   * @param name of the file, without its folder
   * @throws AssertionError if the two differ; the message has the lines and the command that writes
   *     the file
   */
  static void compare(String name, String present) {
    Path file = DIRECTORY.resolve(name);
    try {
      if (Boolean.getBoolean("pointsman.write-golden")) {
        Files.createDirectories(DIRECTORY);
        Files.writeString(file, present);
        return;
      }
      String committed = Files.exists(file) ? Files.readString(file) : "";
      if (!committed.equals(present)) {
        throw new AssertionError(
            "%s differs (-: committed, +: present)%n%s%nTo write the present behaviour: %s"
                .formatted(name, difference(committed, present), COMMAND));
      }
    } catch (IOException e) {
      throw new AssertionError(name + ": " + e, e);
    }
  }

  /** The lines between the common beginning and the common end of two texts. */
  static String difference(String committed, String present) {
    List<String> before = committed.lines().toList();
    List<String> after = present.lines().toList();
    int most = Math.min(before.size(), after.size());
    int head = 0;
    while (head < most && before.get(head).equals(after.get(head))) {
      head++;
    }
    int tail = 0;
    while (tail < most - head
        && before.get(before.size() - 1 - tail).equals(after.get(after.size() - 1 - tail))) {
      tail++;
    }
    List<String> gone = before.subList(head, before.size() - tail);
    List<String> come = after.subList(head, after.size() - tail);
    int column = gone.isEmpty() || come.isEmpty() ? 0 : same(gone.getFirst(), come.getFirst());
    return "line %d%n%s%s".formatted(head + 1, shown("-", gone, column), shown("+", come, column));
  }

  /** Length of the common beginning. */
  private static int same(String one, String other) {
    int length = 0;
    while (length < Math.min(one.length(), other.length())
        && one.charAt(length) == other.charAt(length)) {
      length++;
    }
    return length;
  }

  private static String shown(String sign, List<String> lines, int column) {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < Math.min(lines.size(), MOST_LINES); i++) {
      int from = i == 0 ? Math.max(0, column - MOST_BEFORE) : 0;
      text.append(sign).append(' ').append(cut(lines.get(i), from)).append('\n');
    }
    if (lines.size() > MOST_LINES) {
      text.append(sign).append(" and ").append(lines.size() - MOST_LINES).append(" lines\n");
    }
    return text.toString();
  }

  private static String cut(String line, int from) {
    int to = Math.min(line.length(), from + MOST_CHARACTERS);
    return (from > 0 ? "..." : "") + line.substring(from, to) + (to < line.length() ? "..." : "");
  }
}

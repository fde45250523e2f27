package io.pointsman.it.golden;

import io.pointsman.config.ConfigException;
import io.pointsman.config.ConfigText;
import io.pointsman.config.ConfigValues;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.server.cli.Commands;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import picocli.CommandLine;

/** Command lines and files of launchers, with the configuration or the refusal, as text. */
final class Launched {
  private final Path folder;
  private final StringBuilder text = new StringBuilder();

  /**
   * @param folder for files; left out of the text
   */
  Launched(Path folder) {
    this.folder = folder;
  }

  /** Writes a file that a command line names. */
  Launched file(String name, String content) throws IOException {
    Files.writeString(folder.resolve(name), content);
    text.append("--- ").append(name).append('\n').append(content);
    return this;
  }

  /** Checks a configuration; adds the keys that differ from their defaults, or the refusal. */
  Launched check(String flags) {
    String line = "check-config " + flags;
    Result result = run(words(line + " --all"));
    return said(line, differences(result.out()) + result.err() + "exit " + result.code());
  }

  /** Checks a configuration; adds every key. */
  Launched checkWhole(String flags) {
    String line = "check-config " + flags;
    Result result = run(words(line + " --all"));
    return said(line, result.out() + result.err() + "exit " + result.code());
  }

  /**
   * Adds the keys that a command line of another router sets. Runs the command only if it is
   * refused, because a valid one would start a router.
   *
   * @param translate the translation that the command uses
   */
  Launched launch(String line, Function<List<String>, ConfigValues> translate) {
    List<String> words = words(line);
    ConfigValues values;
    try {
      values = translate.apply(words.subList(1, words.size()));
      PointsmanConfig.from(values);
    } catch (ConfigException refused) {
      Result result = run(words);
      return said(line, result.out() + result.err() + "exit " + result.code());
    }
    return said(line, differences(ConfigText.of(values)) + "starts");
  }

  /** Adds a line. */
  Launched note(String note) {
    text.append("note: ").append(plain(note)).append('\n');
    return this;
  }

  /** All of it. */
  String text() {
    return text.toString();
  }

  private Launched said(String line, String answer) {
    text.append("$ ").append(line.strip()).append('\n').append(plain(answer)).append("\n\n");
    return this;
  }

  /** The words of a line; names of files get their folder. */
  private List<String> words(String line) {
    List<String> words = new ArrayList<>();
    for (String word : line.strip().split(" +", -1)) {
      words.add(word.matches("[a-z-]+\\.yaml") ? folder.resolve(word).toString() : word);
    }
    return words;
  }

  private String plain(String said) {
    return said.replace(folder + "/", "");
  }

  private record Result(int code, String out, String err) {}

  private static Result run(List<String> words) {
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    CommandLine root = Commands.root();
    root.setOut(new PrintWriter(out));
    root.setErr(new PrintWriter(err));
    int code = root.execute(words.toArray(String[]::new));
    return new Result(code, out.toString(), err.toString());
  }

  /** The lines of a printed configuration that differ from the defaults, with whole keys. */
  private static String differences(String printed) {
    Map<String, String> defaults = keys(ConfigText.of(new ConfigValues()));
    StringBuilder lines = new StringBuilder();
    keys(printed)
        .forEach(
            (key, value) -> {
              if (!value.equals(defaults.get(key))) {
                lines.append(key).append(": ").append(value).append('\n');
              }
            });
    return lines.toString();
  }

  private static Map<String, String> keys(String printed) {
    Map<String, String> keys = new LinkedHashMap<>();
    String group = "";
    for (String line : printed.lines().toList()) {
      if (line.endsWith(":")) {
        group = line.substring(0, line.length() - 1) + ".";
        continue;
      }
      int colon = line.indexOf(": ");
      boolean inside = line.startsWith("  ");
      keys.put((inside ? group : "") + line.substring(0, colon).strip(), line.substring(colon + 2));
    }
    return keys;
  }
}

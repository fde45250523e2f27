package io.pointsman.compat.vllmrouter;

import io.pointsman.config.ConfigValues;
import io.pointsman.config.key.ConfigKeys;
import io.pointsman.config.key.Key;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * All flags of another router: applies them to a configuration and documents them. Flags of {@code
 * serve} are accepted too.
 */
public final class FlagTable {
  private final List<Flag> flags;
  private final List<Flag> own;
  private final boolean prefixed;
  private final String sources;

  /**
   * @param prefixed true if names may have the prefix {@code --router-}
   * @param sources heading of the column for {@link Flag.Source}
   * @param flags groups of flags, in order of documentation
   */
  public FlagTable(boolean prefixed, String sources, List<List<Flag>> flags) {
    this.prefixed = prefixed;
    this.sources = sources;
    this.flags = flags.stream().flatMap(List::stream).toList();
    own = OwnFlags.beside(this.flags);
  }

  public List<Flag> flags() {
    return flags;
  }

  /** True if the other router or this one has a flag of exactly this name. */
  public boolean knows(String name) {
    return Stream.concat(flags.stream(), own.stream())
        .anyMatch(flag -> flag.names().contains(name));
  }

  /** Applies the defaults of all honoured flags. */
  public void applyDefaults(Translation into) {
    for (Flag flag : flags) {
      if (!flag.standard().isEmpty() && flag.effect() instanceof Effect.Honoured honoured) {
        honoured.action().apply(new Given(flag.name(), List.of(flag.standard())), into);
      }
    }
  }

  /** The other router's flags on a command line, with their values, by usual spelling. */
  public Map<String, Given> given(List<String> args) {
    Map<String, Given> given = new LinkedHashMap<>();
    new FlagParser(flags, own, prefixed, new ArrayList<>())
        .parse(args)
        .forEach((flag, values) -> given.put(flag.name(), values));
    return given;
  }

  /** Applies a command line. */
  public void apply(List<String> args, Translation into) {
    new FlagParser(flags, own, prefixed, into.problems())
        .parse(args)
        .forEach((flag, given) -> apply(flag, given, into));
  }

  private static void apply(Flag flag, Given given, Translation into) {
    switch (flag.effect()) {
      case Effect.Honoured(_, Effect.Action action) -> action.apply(given, into);
      case Effect.Later(String feature) -> {
        if (!standard(flag, given)) {
          into.problems().add(flag.name() + ": is not supported yet: " + feature);
        }
      }
      case Effect.Refused(String reason) -> {
        if (!standard(flag, given)) {
          into.problems().add(flag.name() + ": is not supported: " + reason);
        }
      }
      case Effect.Idle(String reason, Effect.Action check) -> {
        check.apply(given, into);
        if (!standard(flag, given)) {
          into.notes().add(flag.name() + ": accepted without effect: " + reason);
        }
      }
    }
  }

  /** True if the flag has its default value, and so requests no unsupported behaviour. */
  private static boolean standard(Flag flag, Given given) {
    if (flag.shape() == Flag.Shape.LIST && given.values().isEmpty()) {
      return true;
    }
    return given.values().size() == 1
        && number(given.value())
            .map(value -> number(flag.standard()).filter(value::equals).isPresent())
            .orElse(given.value().equals(flag.standard()));
  }

  private static Optional<Double> number(String text) {
    try {
      return Optional.of(Double.valueOf(text));
    } catch (NumberFormatException e) {
      return Optional.empty();
    }
  }

  /**
   * Help text: all flags with their effect in this router.
   *
   * @param example the configuration of the shortest valid command line
   * @param ofExample keys that its flags set
   */
  public String help(String usage, ConfigValues example, Set<Key<?>> ofExample) {
    StringBuilder help = new StringBuilder();
    help.append("Usage: ").append(usage).append("\n\n");
    for (Flag flag : flags) {
      String standard = flag.standard().isEmpty() ? "" : " (default " + flag.standard() + ")";
      help.append("  ").append(String.join(", ", flag.names())).append(standard).append('\n');
      help.append("      ").append(flag.meaning()).append('\n');
      help.append("      ").append(status(flag)).append('\n');
    }
    help.append(
        """

        Flags of 'pointsman serve' can be added and override these: pointsman serve --help
        Their defaults are those of 'serve', except:

        """);
    Set<String> ownNames = own.stream().map(Flag::name).collect(Collectors.toSet());
    for (Key<?> key : ConfigKeys.all()) {
      if (ownNames.contains(key.flag()) && !ofExample.contains(key)) {
        differing(key, example, help);
      }
    }
    return help.toString();
  }

  private static <T> void differing(Key<T> key, ConfigValues applied, StringBuilder help) {
    T value = applied.get(key);
    if (!value.equals(key.defaultValue())) {
      String shown = key.type().format(value).replace("\"", "");
      if (shown.startsWith("[") && shown.endsWith("]")) { // a list, in the form of a flag
        shown = shown.substring(1, shown.length() - 1).replace(", ", ",");
      }
      help.append("  ").append(key.flag()).append(' ').append(shown).append('\n');
    }
  }

  /**
   * A documentation page with its generated table of flags replaced.
   *
   * @param test name of the generating test, as in the mark before the table
   * @throws IllegalArgumentException if the page has no such mark
   */
  public String in(String page, String test) {
    String begin = "<!-- flags: generated by " + test + " -->\n";
    int from = page.indexOf(begin);
    int to = page.indexOf("<!-- end of flags -->\n");
    if (from < 0 || to < from) {
      throw new IllegalArgumentException(
          "page: no position for the table (expected: its two marks)");
    }
    return page.substring(0, from + begin.length()) + markdown() + page.substring(to);
  }

  /** The table in Markdown. */
  public String markdown() {
    StringBuilder table = new StringBuilder();
    table.append("| Flag | Default | ").append(sources).append(" | Meaning there | Here |\n");
    table.append("|---|---|---|---|---|\n");
    for (Flag flag : flags) {
      table.append("| `").append(String.join("`, `", flag.names())).append("` | ");
      table.append(flag.standard().isEmpty() ? "unset" : "`" + flag.standard() + "`");
      table.append(" | ").append(flag.source().mark());
      table.append(" | ").append(flag.meaning());
      table.append(" | ").append(status(flag)).append(" |\n");
    }
    return table.toString();
  }

  /** The flag's effect in this router, as one sentence. */
  static String status(Flag flag) {
    String refused = flag.standard().isEmpty() ? "refused: " : "refused unless at its default: ";
    return switch (flag.effect()) {
      case Effect.Honoured(String remark, _) ->
          remark.isEmpty() ? "honoured" : "honoured; " + remark;
      case Effect.Later(String feature) -> refused + "not supported yet (" + feature + ")";
      case Effect.Refused(String reason) -> refused + reason;
      case Effect.Idle(String reason, _) -> "accepted without effect: " + reason;
    };
  }
}

import com.sun.source.tree.ClassTree;
import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.MethodTree;
import com.sun.source.tree.Tree;
import com.sun.source.tree.VariableTree;
import com.sun.source.util.JavacTask;
import com.sun.source.util.TreeScanner;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.lang.model.element.Modifier;
import javax.tools.JavaCompiler;
import javax.tools.ToolProvider;

/**
 * Prints measures of the sources and pages below a directory. With {@code --list} it also prints
 * each file, record and interface beyond the guides, and each class name that occurs twice. With
 * {@code --write} it writes the values into the last column of the table in docs/dev/measures.md.
 */
final class Measures {
  private static final int LONG_FILE = 400;
  private static final int WIDE_RECORD = 10;
  private static final int WIDE_INTERFACE = 5;
  private static final int LARGE_PACKAGE = 20;

  /** The heading of a key in the page of all keys. */
  private static final Pattern KEY = Pattern.compile("(?m)^### ");

  private final Path root;
  private final Map<String, Long> values = new LinkedHashMap<>();
  private final List<String> longFiles = new ArrayList<>();
  private final List<String> wideRecords = new ArrayList<>();
  private final List<String> wideInterfaces = new ArrayList<>();
  private final Map<String, Integer> filesOfPackages = new TreeMap<>();
  private final Map<String, Set<String>> filesOfNames = new TreeMap<>();
  private final Set<String> topNames = new TreeSet<>();
  private long mainLines;
  private long testLines;

  private Measures(Path root) {
    this.root = root;
  }

  public static void main(String[] args) throws IOException {
    boolean list = List.of(args).contains("--list");
    Path root = Path.of(Stream.of(args).filter(arg -> !arg.startsWith("--")).findFirst().orElse("."));
    Measures measures = new Measures(root);
    measures.run(list);
    if (List.of(args).contains("--write")) {
      measures.write(root.resolve("docs/dev/measures.md"));
    }
  }

  private void run(boolean list) throws IOException {
    List<Path> sources = files(".java").filter(file -> name(file).contains("src/")).toList();
    for (Path source : sources) {
      long lines = lines(source);
      if (product(source)) {
        mainLines += lines;
        if (lines > LONG_FILE) {
          longFiles.add(lines + " " + name(source));
        }
      } else {
        testLines += lines;
      }
    }
    scan(sources.stream().filter(this::product).toList());
    List<String> repeated =
        topNames.stream()
            .filter(type -> filesOfNames.get(type).size() > 1)
            .map(type -> type + " " + filesOfNames.get(type))
            .toList();
    long large = filesOfPackages.values().stream().filter(files -> files > LARGE_PACKAGE).count();
    List<Path> pages = files(".md").toList();
    long words = 0;
    long longest = 0;
    long keys = 0;
    for (Path page : pages) {
      String text = Files.readString(page);
      words += text.split("\\s+").length;
      if (page.endsWith("configuration.md")) {
        keys = KEY.matcher(text).results().count();
      }
      longest = Math.max(longest, lines(page));
    }
    row("lines of Java, shipped and tools", mainLines);
    row("lines of Java, tests", testLines);
    row("keys of the configuration", keys);
    row("packages", filesOfPackages.size());
    row("packages of more than " + LARGE_PACKAGE + " files", large);
    row("files of more than " + LONG_FILE + " lines", longFiles.size());
    row("records of more than " + WIDE_RECORD + " components", wideRecords.size());
    row("interfaces of more than " + WIDE_INTERFACE + " methods", wideInterfaces.size());
    row("names of classes that occur again", repeated.size());
    row("pages", pages.size());
    row("words in pages", words);
    row("lines of the longest page", longest);
    if (list) {
      Stream.of(longFiles, wideRecords, wideInterfaces, repeated)
          .flatMap(List::stream)
          .forEach(System.out::println);
    }
  }

  private void row(String measure, long value) {
    values.put(measure, value);
    System.out.printf("%-52s %,9d%n", measure, value);
  }

  private void write(Path page) throws IOException {
    String text = Files.readString(page);
    for (Map.Entry<String, Long> each : values.entrySet()) {
      Matcher row =
          Pattern.compile("(?m)^(\\| " + Pattern.quote(each.getKey()) + " \\|[^|]*\\|)[^|]*\\|$")
              .matcher(text);
      if (!row.find()) {
        throw new IllegalStateException(page + ": no row for: " + each.getKey());
      }
      text = row.replaceFirst("$1 " + String.format("%,d", each.getValue()) + " |");
    }
    Files.writeString(page, text);
  }

  /** Returns true for sources that are shipped, or are tools; support of tests and examples are not. */
  private boolean product(Path source) {
    String name = name(source);
    return name.contains("src/main/") && !name.startsWith("test/") && !name.startsWith("examples/");
  }

  private Stream<Path> files(String end) throws IOException {
    try (Stream<Path> all = Files.walk(root)) {
      return all
          .filter(file -> file.toString().endsWith(end))
          .filter(file -> !name(file).matches("(.*/)?(target|node_modules|\\.git)/.*"))
          .sorted()
          .toList()
          .stream();
    }
  }

  private String name(Path file) {
    return root.relativize(file).toString();
  }

  private static long lines(Path file) throws IOException {
    try (Stream<String> lines = Files.lines(file)) {
      return lines.count();
    }
  }

  private void scan(List<Path> sources) throws IOException {
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    var manager = compiler.getStandardFileManager(null, null, null);
    JavacTask task =
        (JavacTask)
            compiler.getTask(
                null,
                manager,
                null,
                List.of("--release", "25", "-proc:none"),
                null,
                manager.getJavaFileObjectsFromPaths(sources));
    for (CompilationUnitTree unit : task.parse()) {
      if (unit.getPackageName() == null) {
        continue;
      }
      Path file = Path.of(unit.getSourceFile().toUri());
      filesOfPackages.merge(unit.getPackageName().toString(), 1, Integer::sum);
      new Types(root.toAbsolutePath().normalize().relativize(file).toString()).scan(unit, null);
    }
  }

  /** Reads the types of one file. */
  private final class Types extends TreeScanner<Void, Void> {
    private final String file;
    private boolean nested;

    Types(String file) {
      this.file = file;
    }

    @Override
    public Void visitClass(ClassTree type, Void none) {
      String name = type.getSimpleName().toString();
      if (name.isEmpty()) {
        return super.visitClass(type, none);
      }
      filesOfNames.computeIfAbsent(name, _ -> new TreeSet<>()).add(file);
      if (!nested) {
        topNames.add(name);
      }
      if (type.getKind() == Tree.Kind.RECORD) {
        long components =
            type.getMembers().stream()
                .filter(VariableTree.class::isInstance)
                .map(VariableTree.class::cast)
                .filter(field -> !field.getModifiers().getFlags().contains(Modifier.STATIC))
                .count();
        if (components > WIDE_RECORD) {
          wideRecords.add(components + " " + name + " " + file);
        }
      }
      if (type.getKind() == Tree.Kind.INTERFACE) {
        long methods =
            type.getMembers().stream()
                .filter(MethodTree.class::isInstance)
                .map(MethodTree.class::cast)
                .filter(method -> !method.getModifiers().getFlags().contains(Modifier.STATIC))
                .count();
        if (methods > WIDE_INTERFACE) {
          wideInterfaces.add(methods + " " + name + " " + file);
        }
      }
      boolean before = nested;
      nested = true;
      super.visitClass(type, none);
      nested = before;
      return null;
    }
  }
}

package io.pointsman.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The router's keys have two sources. Pages, also the generated ones, name both. */
class KeySourcesPageTest {
  private static final Path DOCS =
      Path.of(System.getProperty("pointsman.root", "..")).resolve("docs");
  private static final Pattern FILE = Pattern.compile("auth[.-]keys-file");
  private static final Pattern VARIABLE = Pattern.compile("auth[.-]keys-env");
  private static final Pattern CODE = Pattern.compile("(?ms)^```.*?^```$");
  private static final Pattern BLOCKS = Pattern.compile("\\n\\s*\\n|\\n(?=[|-] )");

  /** Blocks about the file alone. */
  private static final List<Pattern> OF_THE_FILE =
      List.of(
          Pattern.compile("^### `auth.keys-file`$"),
          Pattern.compile("^Flag `--auth-keys-file`.*"),
          Pattern.compile("^Name of an environment variable with the text of such a file.*"),
          Pattern.compile("^\\| `--auth-keys-file` \\|.*"),
          Pattern.compile(".*`auth.keys-file` is invalid.*"));

  @Test
  void everyBlockThatNamesTheFileNamesTheVariable() throws IOException {
    List<String> alone = new ArrayList<>();
    int found = 0;
    try (Stream<Path> pages = Files.walk(DOCS)) {
      for (Path page : pages.filter(each -> each.toString().endsWith(".md")).toList()) {
        String text = CODE.matcher(Files.readString(page)).replaceAll("");
        for (String block : Arrays.asList(BLOCKS.split(text))) {
          boolean named = FILE.matcher(block).find();
          found += named ? 1 : 0;
          if (named && !VARIABLE.matcher(block).find() && !ofTheFile(block)) {
            alone.add(DOCS.relativize(page) + ": " + block);
          }
        }
      }
    }
    assertThat(found).isGreaterThan(20);
    assertThat(alone).isEmpty();
  }

  private static boolean ofTheFile(String block) {
    return OF_THE_FILE.stream().anyMatch(each -> each.matcher(block.strip()).matches());
  }
}

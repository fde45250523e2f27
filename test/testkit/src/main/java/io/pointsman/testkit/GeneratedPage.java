package io.pointsman.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * A page of the documentation that is generated from the code, as a whole or in part. The system
 * property {@code pointsman.write-docs} rewrites it.
 */
public final class GeneratedPage {
  private final Path file;

  /**
   * @param file below {@code docs}
   */
  public GeneratedPage(String file) {
    this.file = Path.of(System.getProperty("pointsman.root", ".."), "docs").resolve(file);
  }

  /** The committed text. */
  public String text() throws IOException {
    return Files.readString(file);
  }

  /** Checks the committed text, after it has been rewritten if the property is set. */
  public void assertIs(String expected) throws IOException {
    if (Boolean.getBoolean("pointsman.write-docs")) {
      Files.writeString(file, expected);
    }
    assertThat(file).hasContent(expected);
  }
}

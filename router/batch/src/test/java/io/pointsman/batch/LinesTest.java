package io.pointsman.batch;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Lines of files. */
class LinesTest {
  @TempDir private Path folder;

  private List<String> lines(String text) throws IOException {
    Path file = Files.writeString(folder.resolve("input"), text);
    List<String> read = new ArrayList<>();
    try (Lines lines = new Lines(file)) {
      for (String line = lines.next(); line != null; line = lines.next()) {
        read.add(lines.number() + ":" + line);
      }
    }
    return read;
  }

  @Test
  void aByteOrderMarkIsNoPartOfTheFirstLine() throws IOException {
    assertThat(lines("\ufeff{}\n{}\n")).containsExactly("1:{}", "2:{}");
    assertThat(lines("\ufeff\n{}")).containsExactly("2:{}");
  }

  @Test
  void aByteOrderMarkInAnotherLineStays() throws IOException {
    assertThat(lines("{}\n\ufeff{}")).containsExactly("1:{}", "2:\ufeff{}");
  }

  @Test
  void blankLinesCountButAreNotReturned() throws IOException {
    assertThat(lines("\n{}\n \n{}")).containsExactly("2:{}", "4:{}");
    assertThat(lines("")).isEmpty();
  }
}

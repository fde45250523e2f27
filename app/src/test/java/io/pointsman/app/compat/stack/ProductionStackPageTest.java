package io.pointsman.app.compat.stack;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class ProductionStackPageTest {
  private static final Path PAGE =
      Path.of(System.getProperty("pointsman.root", ".."), "docs", "migrate", "production-stack.md");

  /** Run with {@code -Dpointsman.write-docs=true} to rewrite the table. */
  @Test
  void thePageMatchesTheFlags() throws IOException {
    String page = Files.readString(PAGE);
    String right = ProductionStackLauncher.flags(new Wishes()).in(page, "ProductionStackPageTest");
    if (Boolean.getBoolean("pointsman.write-docs")) {
      Files.writeString(PAGE, right);
    }
    assertThat(PAGE).hasContent(right);
  }
}

package io.pointsman.app.compat;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class VllmRouterPageTest {
  private static final Path PAGE =
      Path.of(System.getProperty("pointsman.root", ".."), "docs", "migrate", "vllm-router.md");

  /** Run with {@code -Dpointsman.write-docs=true} to rewrite the table. */
  @Test
  void thePageMatchesTheFlags() throws IOException {
    String page = Files.readString(PAGE);
    if (Boolean.getBoolean("pointsman.write-docs")) {
      Files.writeString(PAGE, VllmRouterLauncher.FLAGS.in(page, "VllmRouterPageTest"));
    }
    assertThat(PAGE).hasContent(VllmRouterLauncher.FLAGS.in(page, "VllmRouterPageTest"));
  }
}

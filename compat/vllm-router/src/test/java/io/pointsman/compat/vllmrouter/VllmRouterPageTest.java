package io.pointsman.compat.vllmrouter;

import io.pointsman.testkit.GeneratedPage;
import java.io.IOException;
import org.junit.jupiter.api.Test;

class VllmRouterPageTest {
  @Test
  void thePageMatchesTheFlags() throws IOException {
    GeneratedPage page = new GeneratedPage("migrate/vllm-router.md");
    page.assertIs(VllmRouterLauncher.FLAGS.in(page.text(), "VllmRouterPageTest"));
  }
}

package io.pointsman.compat.productionstack;

import io.pointsman.testkit.GeneratedPage;
import java.io.IOException;
import org.junit.jupiter.api.Test;

class ProductionStackPageTest {
  @Test
  void thePageMatchesTheFlags() throws IOException {
    GeneratedPage page = new GeneratedPage("migrate/production-stack.md");
    page.assertIs(
        ProductionStackLauncher.flags(new Wishes()).in(page.text(), "ProductionStackPageTest"));
  }
}

package io.pointsman.it.split;

import static io.pointsman.it.split.SplitFaults.nixl;
import static io.pointsman.it.split.SplitFaults.succeeds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.pointsman.it.support.Browser;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The operator's page of a fleet with prefill and decode workers. */
@Tag("full")
@Timeout(180)
class SplitPageTest {
  private static final String ROWS = "document.querySelectorAll('#decisions tr.decision')";

  @Test
  void prefillAndDecodeOfARequestAreOneRow() throws Exception {
    assumeTrue(Browser.installed(), "no chromium");
    try (SplitCluster cluster = nixl().start();
        Browser browser = Browser.start()) {
      String prefill = cluster.worker(cluster.prefills.getFirst()).id();
      String decode = cluster.worker(cluster.decodes.getFirst()).id();
      for (int i = 0; i < 3; i++) {
        assertThat(succeeds(cluster).header("x-pointsman-split")).isEqualTo("split");
      }
      browser.open("http://127.0.0.1:" + cluster.router().adminPort() + "/");
      browser.until("three decisions are shown", ROWS + ".length === 3");
      assertThat(browser.value(ROWS + "[0].innerText")).contains(prefill + " → " + decode);
      browser.until("the pair is shown", "document.querySelectorAll('#pairs tr').length === 1");
      assertThat(browser.value("document.getElementById('pairs').innerText"))
          .contains(prefill, decode, "3", "available");

      browser.value("document.querySelector('#decisions button').click()");
      browser.until(
          "both parts are shown", "document.querySelectorAll('tr.detail h3').length === 2");
      assertThat(browser.problems()).isEmpty();
    }
  }
}

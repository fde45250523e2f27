package io.pointsman.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.it.support.Browser;
import io.pointsman.it.support.Cluster;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.RunningRouter;
import io.pointsman.it.support.WaitFor;
import io.pointsman.tool.sim.FreePorts;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The operator's page in Chromium. */
@Tag("full")
@Timeout(180)
final class PageInBrowserTest {
  private static final String PATH = "/v1/chat/completions";
  private static final String KEY = "a-key-of-administrators";
  private static final String ROWS = "document.querySelectorAll('#decisions tr.decision')";
  private static final String FLEET = "document.querySelectorAll('#workers tr')";

  /** The worst contrast of texts and their backgrounds, as WCAG 2 defines it. */
  private static final String CONTRAST =
      """
      (() => {
        const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
        const rgb = (color) => {
          canvas.clearRect(0, 0, 1, 1);
          canvas.fillStyle = color;
          canvas.fillRect(0, 0, 1, 1);
          return [...canvas.getImageData(0, 0, 1, 1).data];
        };
        const light = ([r, g, b]) => [r, g, b]
            .map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
            .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
        const ground = (node) => {
          for (; node; node = node.parentElement) {
            const found = rgb(getComputedStyle(node).backgroundColor);
            if (found[3] === 255) return found;
          }
          return [255, 255, 255, 255];
        };
        let worst = [99, ''];
        for (const node of document.querySelectorAll('body *')) {
          const own = [...node.childNodes].some((c) => c.nodeType === 3 && c.textContent.trim());
          if (!own || node.closest('svg') || !node.checkVisibility()) continue;
          const [a, b] = [light(rgb(getComputedStyle(node).color)), light(ground(node))];
          const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
          if (ratio < worst[0]) worst = [ratio, node.textContent.slice(0, 40)];
        }
        return worst.join(' ');
      })()\
      """;

  /** The text of the first element that sticks out of the window; none if there is none. */
  private static final String WIDE =
      """
      document.documentElement.scrollWidth <= innerWidth ? 'none'
          : [...document.querySelectorAll('main *')]
              .find((e) => e.getBoundingClientRect().right > innerWidth + 1).outerHTML.slice(0, 300)\
      """;

  @BeforeAll
  static void aBrowserIsInstalled() {
    assumeTrue(Browser.installed(), "no chromium");
  }

  private static String page(Cluster cluster) {
    return "http://127.0.0.1:" + cluster.router().adminPort() + "/";
  }

  private static void ask(Cluster cluster, String... headers) throws IOException {
    String body =
        "{\"model\":\"sim\",\"messages\":[{\"role\":\"user\",\"content\":\""
            + "word ".repeat(300)
            + "\"}]}";
    try (RawClient client = RawClient.connect(cluster.port())) {
      byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
      assertThat(client.send("POST", PATH, bytes, List.of(headers)).read().status()).isEqualTo(200);
    }
  }

  @Test
  void aFreshRouterShowsFiveRequests() throws Exception {
    try (Cluster cluster = Cluster.of(2).policy("cost").start();
        Browser browser = Browser.start()) {
      for (int i = 1; i <= 4; i++) {
        ask(cluster, "x-request-id: req-" + i, "x-session-id: session-" + (i % 2));
      }
      ask(cluster, "x-request-id: <img/src=x/onerror=alert(1)>", "x-session-id: </td><b>bold</b>");
      browser.open(page(cluster));
      browser.until("the decisions are shown", ROWS + ".length === 5");
      assertThat(browser.value("document.getElementById('decisions').innerText"))
          .contains("req-1", "session-0", "<img/src=x/onerror=alert(1)>", "</td><b>bold</b>")
          .contains("lowest predicted cost", "succeeded");
      assertThat(browser.value("document.querySelectorAll('img, #decisions b').length"))
          .isEqualTo("0");
      assertThat(browser.value(FLEET + ".length")).isEqualTo("2");
      assertThat(browser.value("document.getElementById('workers').innerText"))
          .contains("available", "closed", cluster.router().workers().getFirst().id());
      assertThat(browser.value("document.getElementById('totals').innerText"))
          .contains("requests/s");
      assertThat(browser.value("document.getElementById('lost-note').innerText"))
          .contains("prompt tokens");
      assertThat(browser.value("document.getElementById('causes').innerText"))
          .contains("never seen");
      assertThat(browser.unnamedControls()).isEmpty();

      browser.type("#search", "SESSION-0");
      browser.until("the search finds two", ROWS + ".length === 2");
      browser.value("document.querySelector('#decisions button').focus()");
      browser.press("Enter");
      browser.until("the details are open", "document.querySelector('tr.detail td')");
      assertThat(browser.value("document.querySelector('tr.detail').innerText"))
          .contains("Policy cost", "chosen");
      assertThat(browser.value("document.activeElement.getAttribute('aria-expanded')"))
          .as("the button with the focus keeps it")
          .isEqualTo("true");

      assertThat(browser.problems()).isEmpty();
      assertThat(browser.requests()).allSatisfy(url -> assertThat(url).startsWith(page(cluster)));
    }
  }

  @Test
  void theKeyIsAskedForAndTheWorkerIsCordoned() throws Exception {
    try (Cluster cluster = Cluster.of(2).set("admin.api-key", KEY).start();
        Browser browser = Browser.start()) {
      Worker worker = cluster.router().workers().getFirst();
      browser.open(page(cluster));
      browser.until("the key is asked for", "document.activeElement.id === 'key'");
      browser.type("#key", "another");
      browser.press("Enter");
      browser.until("it is refused", "document.body.innerText.includes('not accepted')");
      browser.type("#key", KEY);
      browser.press("Enter");
      browser.until("the fleet is shown", FLEET + ".length === 2");

      browser.value(
          "document.querySelector('[aria-label=\"Cordon " + worker.id() + "\"]').focus()");
      browser.press("Enter");
      WaitFor.until("it is cordoned", WaitFor.LONG, worker::cordoned);
      browser.until(
          "that is shown", "document.getElementById('done').innerText.includes('is cordoned')");
      browser.until(
          "its state is shown",
          "document.getElementById('workers').innerText.includes('gets no new requests')");
      assertThat(browser.value("document.activeElement.getAttribute('aria-label')"))
          .isEqualTo("Uncordon " + worker.id());
      browser.press("Space");
      WaitFor.until("it is uncordoned", WaitFor.LONG, () -> !worker.cordoned());
      browser.until(
          "that is shown", "document.getElementById('done').innerText.includes('uncordoned')");
      String drain = "document.querySelector('[aria-label=\"Drain " + worker.id() + "\"]')";
      browser.until("it can be drained", drain);
      browser.value(drain + ".click()");
      browser.until(
          "it is empty", "document.getElementById('done').innerText.includes('is drained')");
      assertThat(worker.cordoned()).isTrue();

      assertThat(browser.requests()).noneMatch(url -> url.contains(KEY));
      assertThat(browser.value("location.href + JSON.stringify(localStorage) + document.cookie"))
          .doesNotContain(KEY);
      browser.value("document.getElementById('forget').click()");
      browser.until("it is asked for again", "!document.getElementById('key-form').hidden");
      worker.cordon(false);
    }
  }

  @Test
  void theReasonOfAnUnhealthyWorkerIsShown() throws Exception {
    try (RunningRouter router =
            RunningRouter.start(
                "listen: {port: 0}\n"
                    + "metrics: {port: 0}\n"
                    + "log: {level: error}\n"
                    + "workers: ['http://127.0.0.1:"
                    + FreePorts.next()
                    + "']\n");
        Browser browser = Browser.start()) {
      browser.open("http://127.0.0.1:" + router.adminPort() + "/");
      browser.until("the state is shown", FLEET + "[0].innerText.includes('unhealthy')");
      browser.until("the reason is shown", FLEET + "[0].innerText.includes('refused')");
      assertThat(browser.value("document.title")).isEqualTo("(1 out) Pointsman");
      assertThat(browser.value("document.getElementById('fleet-note').innerText"))
          .isEqualTo("0 of 1 available");
    }
  }

  @Test
  void aRequestIsExplainedWithoutATrace() throws Exception {
    try (Cluster cluster = Cluster.of(2).policy("cost").start();
        Browser browser = Browser.start()) {
      browser.open(page(cluster));
      browser.until("the fleet is shown", FLEET + ".length === 2");
      browser.type("#headers", "x-session-id: s1");
      browser.type(
          "#body", "{\"model\":\"sim\",\"messages\":[{\"role\":\"user\",\"content\":\"Hello\"}]}");
      browser.value("document.querySelector('#explain-form button').click()");
      browser.until("the answer is there", "document.querySelector('#answer .verdict')");
      assertThat(browser.value("document.getElementById('answer').innerText"))
          .contains("It would go to", "lowest predicted cost", "header:x-session-id");
      assertThat(browser.value("document.querySelectorAll('#answer tbody tr').length"))
          .isEqualTo("2");

      browser.type("#body", "{\"model\":\"<i>none</i>\",\"prompt\":\"Hello\"}");
      browser.value("document.querySelector('#explain-form button').click()");
      browser.until(
          "the refusal is there",
          "document.getElementById('answer').innerText.includes('refused with 404')");
      browser.type("#headers", "no header");
      browser.value("document.querySelector('#explain-form button').click()");
      browser.until(
          "the wrong line is named",
          "document.getElementById('answer').innerText.includes('line 1: no header')");

      assertThat(cluster.router().workers()).allMatch(w -> w.inFlight() == 0 && w.served() == 0);
      assertThat(cluster.engines()).allMatch(e -> e.state().tokens().cacheQueries() == 0);
      assertThat(browser.value("document.querySelectorAll('#answer i').length")).isEqualTo("0");
    }
  }

  @Test
  void chartsAndTheShadowPolicyAreShown() throws Exception {
    try (Cluster cluster =
            Cluster.of(2).policy("round_robin").set("shadow-policy", "cost").start();
        Browser browser = Browser.start()) {
      ask(cluster);
      browser.open(page(cluster));
      browser.until(
          "the shadow policy is shown",
          "/round_robin[^]*active[^]*cost[^]*shadow/.test(document.querySelector('#shadow').innerText)");
      browser.until(
          "four charts are shown",
          "document.querySelectorAll('#charts svg[role=img]').length === 4");
      browser.until(
          "a point is drawn",
          "document.querySelector('#charts path.line').getAttribute('d').startsWith('M')");
      assertThat(browser.value("document.querySelector('#charts svg').getAttribute('aria-label')"))
          .startsWith("Requests per second over the last 5 minutes. Now: requests ");
      assertThat(browser.value("document.getElementById('lost-note').innerText"))
          .contains("makes no predictions");
      assertThat(browser.problems()).isEmpty();
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {390, 1024, 1440, 3840})
  void thePageFitsAndIsReadable(int width) throws Exception {
    try (Cluster cluster = Cluster.of(3).policy("cost").start();
        Browser browser = Browser.start()) {
      for (int i = 0; i < 5; i++) {
        ask(cluster, "x-request-id: " + "a-long-id-of-a-request-".repeat(6) + i);
      }
      cluster.router().workers().getFirst().cordon(true);
      browser.size(width, 900);
      browser.dark(false);
      browser.open(page(cluster));
      browser.until("the decisions are shown", ROWS + ".length === 5");
      browser.value("document.querySelector('#decisions button').click()");
      browser.until("the details are open", "document.querySelector('tr.detail td')");
      assertThat(browser.value(WIDE)).isEqualTo("none");
      for (boolean dark : new boolean[] {false, true}) {
        browser.dark(dark);
        String worst = browser.value(CONTRAST);
        assertThat(Double.parseDouble(worst.substring(0, worst.indexOf(' '))))
            .as("dark %s: %s", dark, worst)
            .isGreaterThanOrEqualTo(4.5);
      }
      browser.press("Tab");
      assertThat(
              browser.value(
                  "document.activeElement.className +"
                      + " getComputedStyle(document.activeElement).outlineStyle"))
          .isNotEmpty()
          .doesNotContain("none");
      cluster.router().workers().getFirst().cordon(false);
    }
  }
}

package io.pointsman.api.page;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.policy.CacheMiss;
import io.pointsman.engine.policy.Candidate;
import io.pointsman.engine.policy.PickReason;
import io.pointsman.observe.decisions.Explained;
import io.pointsman.proxy.local.LocalRequest;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.local.LocalRoutes;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class OperatorPageTest {
  private final LocalRoutes routes = routes();

  private static LocalRoutes routes() {
    LocalRoutes.Builder builder = LocalRoutes.builder();
    OperatorPage.addTo(builder);
    return builder.build();
  }

  private LocalResponse get(String path) throws Exception {
    LocalRoutes.Methods methods = requireNonNull(routes.at(path), path);
    assertThat(methods.withoutKey()).as(path).isTrue();
    return requireNonNull(methods.forMethod("GET"))
        .handle(new LocalRequest("GET", path, "", Map.of(), new byte[0], "req-1"));
  }

  private String text(String path) throws Exception {
    return new String(get(path).body(), StandardCharsets.UTF_8);
  }

  @ParameterizedTest
  @ValueSource(strings = {"/", "/ui"})
  void pageHasAllItsFilesAndRunsNothingElse(String path) throws Exception {
    LocalResponse page = get(path);

    assertThat(requireNonNull(routes.at(path)).page()).isTrue();
    assertThat(page.headers())
        .containsEntry("content-type", "text/html; charset=utf-8")
        .containsEntry("x-content-type-options", "nosniff");
    assertThat(page.headers().get("content-security-policy"))
        .contains("default-src 'none'", "script-src 'self'", "style-src 'self'")
        .doesNotContain("unsafe", "http");
    String html = text(path);
    assertThat(html)
        .doesNotContain("<style", "style=\"", "onclick", "://")
        .doesNotContain("<script>");
    Matcher parts = Pattern.compile("(?:href|src)=\"([^#\"][^\"]*)\"").matcher(html);
    List<String> types = new ArrayList<>();
    while (parts.find()) {
      types.add(get("/" + parts.group(1)).headers().get("content-type"));
    }
    assertThat(types)
        .containsExactlyInAnyOrder(
            "text/css; charset=utf-8",
            "text/javascript; charset=utf-8",
            "image/svg+xml; charset=utf-8");
  }

  /** Texts of clients and engines reach the page only as text. */
  @Test
  void scriptInsertsNoHtml() throws Exception {
    assertThat(text("/ui/page.js"))
        .doesNotContain("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(")
        .doesNotContain("localStorage", "sessionStorage", "document.cookie");
  }

  @Test
  void everyElementOfTheScriptIsInThePage() throws Exception {
    String html = text("/ui");
    Matcher ids = Pattern.compile("(?:by|show)\\(\\s*\"([a-z-]+)\"").matcher(text("/ui/page.js"));
    int found = 0;
    while (ids.find()) {
      assertThat(html).contains("id=\"" + ids.group(1) + "\"");
      found++;
    }
    assertThat(found).isGreaterThan(30);
  }

  @Test
  void pageDescribesEachReasonVerdictAndCause() throws Exception {
    String script = text("/ui/page.js");

    for (PickReason reason : PickReason.values()) {
      assertThat(words(script, "REASONS")).contains("  " + Explained.name(reason) + ": \"");
    }
    for (Candidate.Verdict verdict : Candidate.Verdict.values()) {
      assertThat(words(script, "VERDICTS")).contains("  " + Explained.name(verdict) + ": \"");
    }
    for (CacheMiss cause : CacheMiss.values()) {
      assertThat(words(script, "CAUSES")).contains("  " + Explained.name(cause) + ": \"");
    }
  }

  /** A table in the page's script. */
  private static String words(String script, String name) {
    int begin = script.indexOf("const " + name + " = {");
    return script.substring(begin, script.indexOf("};", begin));
  }
}

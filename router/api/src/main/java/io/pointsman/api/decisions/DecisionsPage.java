package io.pointsman.api.decisions;

import io.pointsman.proxy.local.LocalRequest;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.local.LocalRoutes;
import java.io.IOException;
import java.io.InputStream;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The HTML page at {@code GET /decisions}: shows workers and decisions and refreshes them every two
 * seconds. It reads the same paths as any client and loads nothing from other servers. It runs only
 * its own script, because model names come from clients.
 */
final class DecisionsPage {
  private static final Map<String, String> COMMON =
      Map.of(
          "content-security-policy",
          "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
              + " base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
          "x-content-type-options",
          "nosniff",
          "cache-control",
          "no-cache");

  private DecisionsPage() {}

  /** Adds routes for the page's script and style sheet. */
  static void addTo(LocalRoutes.Builder routes) {
    routes.on("GET", "/decisions/page.js", _ -> part("decisions.js", "text/javascript"));
    routes.on("GET", "/decisions/page.css", _ -> part("decisions.css", "text/css"));
  }

  static LocalResponse page() throws IOException {
    return part("decisions.html", "text/html").withHeader("vary", "accept");
  }

  /** True if the client is a browser: clients that want JSON do not accept HTML. */
  static boolean wanted(LocalRequest request) {
    @Nullable String accepted = request.header("accept");
    return accepted != null && accepted.contains("text/html");
  }

  private static LocalResponse part(String name, String type) throws IOException {
    try (InputStream in = DecisionsPage.class.getResourceAsStream(name)) {
      if (in == null) {
        throw new IOException(name + " is missing in this program");
      }
      return new LocalResponse(200, COMMON, in.readAllBytes())
          .withHeader("content-type", type + "; charset=utf-8");
    }
  }
}

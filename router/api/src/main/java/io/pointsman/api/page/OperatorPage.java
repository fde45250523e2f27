package io.pointsman.api.page;

import io.pointsman.proxy.local.LocalRequest;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.local.LocalRoutes;
import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The operator's page at {@code GET /ui}, also at {@code GET /} of the admin listener. It reads and
 * calls the same paths as any client and loads nothing from other servers. It runs only its own
 * script, because model names and request ids come from clients. Its files contain no data, so they
 * need no key; the page asks for the key and sends it with each call.
 */
public final class OperatorPage {
  /** Path at the root of the admin listener. Engines have it on the port of clients. */
  public static final String ROOT = "/";

  private static final Map<String, String> COMMON =
      Map.of(
          "content-security-policy",
          "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
              + " img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
          "x-content-type-options",
          "nosniff",
          "referrer-policy",
          "no-referrer",
          "cache-control",
          "no-cache");

  private OperatorPage() {}

  /** Adds routes for the page and its files. */
  public static void addTo(LocalRoutes.Builder routes) {
    routes.on("GET", ROOT, _ -> part("page.html", "text/html"));
    routes.on("GET", "/ui", _ -> part("page.html", "text/html"));
    routes.on("GET", "/ui/page.js", _ -> part("page.js", "text/javascript"));
    routes.on("GET", "/ui/page.css", _ -> part("page.css", "text/css"));
    routes.on("GET", "/ui/icon.svg", _ -> part("icon.svg", "image/svg+xml"));
    for (String path : List.of(ROOT, "/ui", "/ui/page.js", "/ui/page.css", "/ui/icon.svg")) {
      routes.withoutKey(path);
    }
    routes.page(ROOT).page("/ui");
  }

  /** Leads a browser from a path at the root to the page. */
  public static LocalResponse redirect() {
    return new LocalResponse(302, COMMON, new byte[0])
        .withHeader("location", "ui")
        .withHeader("vary", "accept");
  }

  /** True if the client is a browser: clients that want JSON do not accept HTML. */
  public static boolean wanted(LocalRequest request) {
    @Nullable String accepted = request.header("accept");
    return accepted != null && accepted.contains("text/html");
  }

  private static LocalResponse part(String name, String type) throws IOException {
    try (InputStream in = OperatorPage.class.getResourceAsStream(name)) {
      if (in == null) {
        throw new IOException(name + " is missing in this program");
      }
      return new LocalResponse(200, COMMON, in.readAllBytes())
          .withHeader("content-type", type + "; charset=utf-8");
    }
  }
}

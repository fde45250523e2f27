package io.pointsman.tool.sim.api;

import io.pointsman.tool.sim.http.SimEndpoint;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Maps paths and methods to endpoints; exact paths first, then the longest prefix. */
final class SimRoutes {
  private final Map<String, Map<String, Route>> exact = new LinkedHashMap<>();
  private final Map<String, Map<String, Route>> prefixes = new LinkedHashMap<>();

  /** Adds an endpoint that does work: it is counted, and failures apply to it. */
  void work(String path, SimEndpoint endpoint) {
    exact.computeIfAbsent(path, p -> new LinkedHashMap<>()).put("POST", new Route(endpoint, true));
  }

  /** Adds an endpoint for information or administration. */
  void plain(String method, String path, SimEndpoint endpoint) {
    exact.computeIfAbsent(path, p -> new LinkedHashMap<>()).put(method, new Route(endpoint, false));
  }

  /** Adds an endpoint for all paths with a prefix; the method {@code *} means any. */
  void below(String method, String prefix, SimEndpoint endpoint, boolean works) {
    prefixes
        .computeIfAbsent(prefix, p -> new LinkedHashMap<>())
        .put(method, new Route(endpoint, works));
  }

  /** Returns the routes of a path by method; null for an unknown path. */
  @Nullable Map<String, Route> at(String path) {
    Map<String, Route> methods = exact.get(path);
    if (methods != null) {
      return methods;
    }
    String longest = "";
    for (String prefix : prefixes.keySet()) {
      if (path.startsWith(prefix) && prefix.length() > longest.length()) {
        longest = prefix;
      }
    }
    return prefixes.get(longest);
  }

  /** An endpoint, and whether it does work. */
  record Route(SimEndpoint endpoint, boolean works) {}
}

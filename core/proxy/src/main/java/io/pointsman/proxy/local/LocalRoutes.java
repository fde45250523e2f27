package io.pointsman.proxy.local;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * The paths that the router answers itself, by method. Immutable. An exact path precedes prefixes;
 * a longer prefix precedes a shorter one. A GET route also answers HEAD.
 */
public final class LocalRoutes {
  /** No routes. */
  public static final LocalRoutes NONE = builder().build();

  private final Map<String, Methods> exact;
  private final List<Prefixed> prefixes;

  private LocalRoutes(Builder builder) {
    exact = new HashMap<>();
    builder.exact.forEach((path, methods) -> exact.put(path, builder.methods(path, methods)));
    List<Prefixed> all = new ArrayList<>();
    builder.prefixes.forEach(
        (path, methods) -> all.add(new Prefixed(path, builder.methods(path, methods))));
    all.sort((a, b) -> Integer.compare(b.prefix.length(), a.prefix.length()));
    prefixes = List.copyOf(all);
  }

  public static Builder builder() {
    return new Builder();
  }

  /** The routes at {@code path}, without its query string; null if workers serve the path. */
  public @Nullable Methods at(String path) {
    Methods found = exact.get(path);
    if (found != null || prefixes.isEmpty()) {
      return found;
    }
    for (Prefixed candidate : prefixes) {
      if (path.startsWith(candidate.prefix) && path.length() > candidate.prefix.length()) {
        return candidate.methods;
      }
    }
    return null;
  }

  private record Prefixed(String prefix, Methods methods) {}

  /** The endpoints of one path, by method. */
  public static final class Methods {
    private final Map<String, LocalEndpoint> byName;
    private final boolean forAnyOrigin;

    private Methods(Map<String, LocalEndpoint> byName, boolean forAnyOrigin) {
      this.byName = byName;
      this.forAnyOrigin = forAnyOrigin;
    }

    /** True if web pages of any origin may use the path, where the configuration allows that. */
    public boolean forAnyOrigin() {
      return forAnyOrigin;
    }

    /** The endpoint for {@code method}; null if the path does not support it. */
    public @Nullable LocalEndpoint forMethod(String method) {
      LocalEndpoint found = byName.get(method);
      return found == null && method.equals("HEAD") ? byName.get("GET") : found;
    }

    /** The value of the {@code Allow} header. */
    public String allow() {
      SortedSet<String> methods = new TreeSet<>(byName.keySet());
      if (methods.contains("GET")) {
        methods.add("HEAD");
      }
      return String.join(", ", methods);
    }
  }

  /** Builder of routes. */
  public static final class Builder {
    private final Map<String, Map<String, LocalEndpoint>> exact = new TreeMap<>();
    private final Map<String, Map<String, LocalEndpoint>> prefixes = new TreeMap<>();
    private final Set<String> forAnyOrigin = new HashSet<>();

    private Builder() {}

    private Methods methods(String path, Map<String, LocalEndpoint> byName) {
      return new Methods(Map.copyOf(byName), forAnyOrigin.contains(path));
    }

    /** Adds a route for {@code method} at exactly {@code path}. */
    public Builder on(String method, String path, LocalEndpoint endpoint) {
      return add(exact, method, path, endpoint);
    }

    /** Adds a route for {@code method} at each path below {@code prefix}, which ends in a slash. */
    public Builder below(String method, String prefix, LocalEndpoint endpoint) {
      if (!prefix.endsWith("/")) {
        throw new IllegalArgumentException("prefix: " + prefix + " (expected: ends in /)");
      }
      return add(prefixes, method, prefix, endpoint);
    }

    /**
     * Lets web pages of any origin use the routes at {@code path}, or below it if it ends in a
     * slash. Without this call they serve only origins that the configuration names.
     */
    public Builder forAnyOrigin(String path) {
      forAnyOrigin.add(path);
      return this;
    }

    /** True if {@code method} has a route at {@code path}, or below it if it ends in a slash. */
    public boolean has(String method, String path) {
      Map<String, LocalEndpoint> at = (path.endsWith("/") ? prefixes : exact).get(path);
      return at != null && at.containsKey(method);
    }

    private Builder add(
        Map<String, Map<String, LocalEndpoint>> routes,
        String method,
        String path,
        LocalEndpoint endpoint) {
      if (!path.startsWith("/")) {
        throw new IllegalArgumentException("path: " + path + " (expected: begins with /)");
      }
      Map<String, LocalEndpoint> methods = routes.computeIfAbsent(path, _ -> new TreeMap<>());
      if (methods.putIfAbsent(method, endpoint) != null) {
        throw new IllegalArgumentException("route: " + method + " " + path + " (expected: once)");
      }
      return this;
    }

    public LocalRoutes build() {
      return new LocalRoutes(this);
    }
  }
}

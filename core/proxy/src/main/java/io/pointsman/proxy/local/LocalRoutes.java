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

  private LocalRoutes(Map<String, Methods> exact, List<Prefixed> prefixes) {
    this.exact = exact;
    this.prefixes = List.copyOf(prefixes);
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

  /** The routes of both; those of this object precede. */
  public LocalRoutes and(LocalRoutes others) {
    Map<String, Methods> all = new HashMap<>(others.exact);
    all.putAll(exact);
    List<Prefixed> both = new ArrayList<>(prefixes);
    both.addAll(others.prefixes);
    both.sort((a, b) -> Integer.compare(b.prefix.length(), a.prefix.length()));
    return new LocalRoutes(all, both);
  }

  /** The routes without these paths. A path that ends in a slash stands for all below it. */
  public LocalRoutes without(Set<String> paths) {
    Map<String, Methods> kept = new HashMap<>(exact);
    kept.keySet().removeAll(paths);
    return new LocalRoutes(
        kept, prefixes.stream().filter(each -> !paths.contains(each.prefix)).toList());
  }

  /** All paths with a route; a path that ends in a slash stands for the paths below it. */
  public Set<String> paths() {
    Set<String> paths = new TreeSet<>(exact.keySet());
    prefixes.forEach(each -> paths.add(each.prefix));
    return paths;
  }

  private record Prefixed(String prefix, Methods methods) {}

  /** The endpoints of one path, by method. */
  public static final class Methods {
    private final Map<String, LocalEndpoint> byName;
    private final boolean forAnyOrigin;
    private final Set<String> forPlanes;
    private final boolean ofClient;
    private final boolean page;
    private final boolean withoutKey;

    private Methods(
        Map<String, LocalEndpoint> byName,
        boolean forAnyOrigin,
        Set<String> forPlanes,
        boolean ofClient,
        boolean page,
        boolean withoutKey) {
      this.withoutKey = withoutKey;
      this.byName = byName;
      this.page = page;
      this.forAnyOrigin = forAnyOrigin;
      this.forPlanes = forPlanes;
      this.ofClient = ofClient;
    }

    /** True if proxies that ask for decisions use the path with this method. */
    public boolean forPlanes(String method) {
      return forPlanes.contains(method);
    }

    /** True if a request has the headers of a proxy's client, with the client's key. */
    public boolean ofClient() {
      return ofClient;
    }

    /** True if other sites may link to the path with GET. */
    public boolean page() {
      return page;
    }

    /** True if the path needs no key: its content is the same in every router. */
    public boolean withoutKey() {
      return withoutKey;
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
    private final Map<String, Set<String>> forPlanes = new HashMap<>();
    private final Set<String> ofClients = new HashSet<>();
    private final Set<String> pages = new HashSet<>();
    private final Set<String> withoutKey = new HashSet<>();

    private Builder() {}

    private Methods methods(String path, Map<String, LocalEndpoint> byName) {
      return new Methods(
          Map.copyOf(byName),
          forAnyOrigin.contains(path),
          Set.copyOf(forPlanes.getOrDefault(path, Set.of())),
          ofClients.contains(path),
          pages.contains(path),
          withoutKey.contains(path));
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

    /** Opens a route at {@code path}, or below it, to proxies that ask for decisions. */
    public Builder forPlanes(String method, String path) {
      forPlanes.computeIfAbsent(path, _ -> new HashSet<>()).add(method);
      return this;
    }

    /** Declares that requests at {@code path} have the headers of a proxy's client. */
    public Builder ofClients(String path) {
      ofClients.add(path);
      return this;
    }

    /** Declares that {@code path} is a page for browsers, which other sites may link to. */
    public Builder page(String path) {
      pages.add(path);
      return this;
    }

    /**
     * Opens the routes at {@code path} to callers without a key. Only for content that is the same
     * in every router, for example the files of a page.
     */
    public Builder withoutKey(String path) {
      withoutKey.add(path);
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

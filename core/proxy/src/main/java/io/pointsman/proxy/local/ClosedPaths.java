package io.pointsman.proxy.local;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.BiPredicate;
import org.jspecify.annotations.Nullable;

/**
 * The paths that clients cannot use, each with the endpoint that refuses it. Paths are compared in
 * lower case. Immutable.
 */
public final class ClosedPaths {
  /** Closes no path. */
  public static final ClosedPaths NONE = builder().build();

  private static final String ANYTHING = "*";

  private final Map<String, LocalEndpoint> exact;
  private final List<Below> prefixes;
  private final @Nullable AllowList allowList;

  private record Below(String prefix, LocalEndpoint refusal) {}

  private record AllowList(BiPredicate<String, String> allowed, LocalEndpoint refusal) {}

  private ClosedPaths(Builder builder) {
    exact = Map.copyOf(builder.exact);
    prefixes = List.copyOf(builder.prefixes);
    allowList = builder.allowList;
  }

  public static Builder builder() {
    return new Builder();
  }

  /**
   * The endpoint that refuses a request; null if the path is open.
   *
   * @param path normalised path without a query string ({@code Paths.normal})
   */
  public @Nullable LocalEndpoint at(String method, String path) {
    String lower = path.toLowerCase(Locale.ROOT);
    LocalEndpoint found = exact.get(lower);
    if (found != null) {
      return found;
    }
    for (Below each : prefixes) {
      if (lower.startsWith(each.prefix)) {
        return each.refusal;
      }
    }
    AllowList list = allowList;
    return list == null || list.allowed.test(method, path) ? null : list.refusal;
  }

  /** Builder of closed paths. */
  public static final class Builder {
    private final Map<String, LocalEndpoint> exact = new HashMap<>();
    private final List<Below> prefixes = new ArrayList<>();
    private @Nullable AllowList allowList;

    private Builder() {}

    /**
     * Closes a path, all paths below it if it ends in a slash, or all that begin like it if it ends
     * in {@code *}. The first call for a path counts.
     */
    public Builder close(String path, LocalEndpoint refusal) {
      String lower = path.toLowerCase(Locale.ROOT);
      if (lower.endsWith(ANYTHING)) {
        prefixes.add(new Below(lower.substring(0, lower.length() - 1), refusal));
      } else if (lower.length() > 1 && lower.endsWith("/")) {
        prefixes.add(new Below(lower, refusal));
      } else {
        exact.putIfAbsent(lower, refusal);
      }
      return this;
    }

    /**
     * Closes all paths except the allowed ones.
     *
     * @param allowed test of a method and a normalised path
     */
    public Builder allowOnly(BiPredicate<String, String> allowed, LocalEndpoint refusal) {
      allowList = new AllowList(allowed, refusal);
      return this;
    }

    public ClosedPaths build() {
      return new ClosedPaths(this);
    }
  }
}

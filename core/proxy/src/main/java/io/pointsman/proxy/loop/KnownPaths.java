package io.pointsman.proxy.loop;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Recent methods and paths of requests that went to workers as they were received. No route and no
 * rule of the present context concerns them. Few, because clients use few paths. Belongs to the
 * event loop.
 */
public final class KnownPaths {
  private static final int PLACES = 16;

  /** Maximum length of a path in characters. */
  private static final int MOST_LENGTH = 256;

  private final String[] methods = new String[PLACES];
  private final @Nullable String[] paths = new String[PLACES];

  KnownPaths() {
    clear();
  }

  /**
   * True if such a request went to a worker in this context.
   *
   * @param uri path with query string, as received
   */
  public boolean contains(String method, String uri) {
    int place = place(uri);
    return uri.equals(paths[place]) && method.equals(methods[place]);
  }

  /** Adds a request. Long paths, and those with a query string, are not added. */
  public void add(String method, String uri) {
    if (uri.length() <= MOST_LENGTH && uri.indexOf('?') < 0) {
      int place = place(uri);
      methods[place] = method;
      paths[place] = uri;
    }
  }

  private static int place(String uri) {
    int hash = uri.hashCode();
    return (hash ^ hash >>> 16) & (PLACES - 1);
  }

  /** Forgets all, because another context may have other routes and rules. */
  void clear() {
    Arrays.fill(methods, "");
    Arrays.fill(paths, null);
  }
}

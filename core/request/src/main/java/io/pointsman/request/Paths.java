package io.pointsman.request;

/** Spellings of paths. */
public final class Paths {
  private Paths() {}

  /**
   * The path without doubled slashes and without a slash at its end. A query string remains
   * unchanged. Returns {@code uri} itself if it has neither.
   *
   * @param uri path, with or without a query string
   */
  public static String plain(String uri) {
    int query = uri.indexOf('?');
    int end = query < 0 ? uri.length() : query;
    int doubled = uri.indexOf("//");
    boolean trailing = end > 1 && uri.charAt(end - 1) == '/';
    if (!trailing && (doubled < 0 || doubled >= end)) {
      return uri;
    }
    StringBuilder plain = new StringBuilder(uri.length());
    for (int i = 0; i < end; i++) {
      char each = uri.charAt(i);
      if (each != '/' || plain.isEmpty() || plain.charAt(plain.length() - 1) != '/') {
        plain.append(each);
      }
    }
    if (plain.length() > 1 && plain.charAt(plain.length() - 1) == '/') {
      plain.setLength(plain.length() - 1);
    }
    return plain.append(uri, end, uri.length()).toString();
  }
}

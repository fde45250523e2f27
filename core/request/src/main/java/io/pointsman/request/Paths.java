package io.pointsman.request;

import java.util.ArrayList;
import java.util.List;

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

  /**
   * The path as a server compares it: percent-encoded bytes decoded once, parameters after {@code
   * ;} removed, backslashes read as slashes, dot segments resolved, no doubled slashes and no slash
   * at its end. A query string remains unchanged. Returns {@code uri} itself if nothing changes.
   * The result is for comparisons; it can contain any character and must not be sent.
   *
   * @param uri path, with or without a query string
   */
  public static String normal(String uri) {
    int query = uri.indexOf('?');
    int end = query < 0 ? uri.length() : query;
    if (!uri.startsWith("/") || isNormal(uri, end)) {
      return uri;
    }
    List<String> segments = new ArrayList<>();
    for (String each : decoded(uri, end).replace('\\', '/').split("/", -1)) {
      int parameters = each.indexOf(';');
      String segment = parameters < 0 ? each : each.substring(0, parameters);
      if (segment.equals("..")) {
        if (!segments.isEmpty()) {
          segments.removeLast();
        }
      } else if (!segment.isEmpty() && !segment.equals(".")) {
        segments.add(segment);
      }
    }
    String normal = "/" + String.join("/", segments) + uri.substring(end);
    return normal.equals(uri) ? uri : normal;
  }

  /**
   * The path as a server compares it that resolves no dot segments: percent-encoded bytes decoded
   * once, without the query string. Like {@link #normal} it is for comparisons.
   *
   * @param uri path, with or without a query string
   */
  public static String literal(String uri) {
    int query = uri.indexOf('?');
    return decoded(uri, query < 0 ? uri.length() : query);
  }

  /**
   * True if the path has a percent-encoded control character. Servers compare it differently: for
   * example, some ignore a line feed at the end.
   *
   * @param uri path, with or without a query string
   */
  public static boolean hidesControl(String uri) {
    for (int i = 0; i + 2 < uri.length() && uri.charAt(i) != '?'; i++) {
      if (uri.charAt(i) == '%') {
        char high = uri.charAt(i + 1);
        int low = Character.digit(uri.charAt(i + 2), 16);
        if (((high == '0' || high == '1') && low >= 0) || (high == '7' && low == 15)) {
          return true;
        }
      }
    }
    return false;
  }

  /**
   * True if a normalised path consists of characters that need no encoding. A decoded question mark
   * is none of them: behind it, the rest of the path would become the query string.
   *
   * @param normal {@link #normal} of {@code uri}
   */
  public static boolean sendable(String normal, String uri) {
    int query = uri.indexOf('?');
    int end = query < 0 ? normal.length() : normal.length() - (uri.length() - query);
    for (int i = 0; i < end; i++) {
      char each = normal.charAt(i);
      boolean letter = (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z');
      if (!letter && !(each >= '0' && each <= '9') && "/-._~:@!$&'()*+,=".indexOf(each) < 0) {
        return false;
      }
    }
    return true;
  }

  private static boolean isNormal(String uri, int end) {
    for (int i = 0; i < end; i++) {
      char each = uri.charAt(i);
      if (each == '%' || each == ';' || each == '\\') {
        return false;
      }
      if (each == '/' && i + 1 < end && (uri.charAt(i + 1) == '/' || uri.charAt(i + 1) == '.')) {
        return false;
      }
    }
    return end <= 1 || uri.charAt(end - 1) != '/';
  }

  /** Decodes each byte to one character; an incomplete code remains as it is. */
  private static String decoded(String uri, int end) {
    StringBuilder decoded = new StringBuilder(end);
    for (int i = 0; i < end; i++) {
      char each = uri.charAt(i);
      boolean code = each == '%' && i + 2 < end;
      int high = code ? Character.digit(uri.charAt(i + 1), 16) : -1;
      int low = code ? Character.digit(uri.charAt(i + 2), 16) : -1;
      if (high < 0 || low < 0) {
        decoded.append(each);
      } else {
        decoded.append((char) (high << 4 | low));
        i += 2;
      }
    }
    return decoded.toString();
  }
}

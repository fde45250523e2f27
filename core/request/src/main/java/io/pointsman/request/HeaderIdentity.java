package io.pointsman.request;

import io.pointsman.engine.policy.AffinityKey;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Identity of a request from its headers, read in one pass. One thread; reused for all requests.
 */
final class HeaderIdentity {
  /**
   * An identity that consists of one header or of two headers.
   *
   * @param header index of the header
   * @param detail index of the header that refines the identity; -1 if none
   */
  private record Identity(AffinityKey.Kind kind, String source, int header, int detail) {}

  private final List<String> names = new ArrayList<>();

  /** Bit set of the lengths of {@link #names}. It excludes most headers with one test. */
  private long lengths;

  private final List<Identity> sessions = new ArrayList<>();
  private final List<Identity> requests = new ArrayList<>();
  private final @Nullable CharSequence[] values;
  private final BiConsumer<CharSequence, CharSequence> collector = this::collect;

  HeaderIdentity(AffinitySettings settings) {
    session(settings.sessionHeader());
    if (settings.sessionField().isEmpty()) {
      session("x-claude-code-session-id", "x-claude-code-agent-id");
      session("session-id", "thread-id");
      session("thread-id");
      session("x-dynamo-session-id");
      settings.ownerHeaders().forEach(this::session);
    }
    for (String name : settings.requestHeaders()) {
      requests.add(new Identity(AffinityKey.Kind.REQUEST, source(name), index(name), -1));
    }
    values = new @Nullable CharSequence[names.size()];
  }

  /** Reads the headers of one request. */
  void read(RequestHeaders headers) {
    Arrays.fill(values, null);
    headers.forEach(collector);
  }

  /** Drops the references to the headers. */
  void release() {
    Arrays.fill(values, null);
  }

  /** The session or owner with the highest precedence; null if the headers name none. */
  @Nullable AffinityKey session() {
    return first(sessions);
  }

  /** The id of this single request; null if the headers have none. */
  @Nullable AffinityKey request() {
    return first(requests);
  }

  private void session(String name) {
    sessions.add(new Identity(AffinityKey.Kind.SESSION, source(name), index(name), -1));
  }

  private void session(String name, String detail) {
    sessions.add(new Identity(AffinityKey.Kind.SESSION, source(name), index(name), index(detail)));
  }

  private static String source(String name) {
    return "header:" + name.toLowerCase(Locale.ROOT);
  }

  private int index(String name) {
    for (int i = 0; i < names.size(); i++) {
      if (same(names.get(i), name)) {
        return i;
      }
    }
    names.add(name);
    lengths |= bit(name.length());
    return names.size() - 1;
  }

  private static long bit(int length) {
    return 1L << Math.min(length, Long.SIZE - 1);
  }

  private void collect(CharSequence name, CharSequence value) {
    if ((lengths & bit(name.length())) == 0) {
      return;
    }
    for (int i = 0; i < values.length; i++) {
      if (values[i] == null && same(names.get(i), name) && !blank(value)) {
        values[i] = value;
        return;
      }
    }
  }

  private @Nullable AffinityKey first(List<Identity> identities) {
    for (int i = 0; i < identities.size(); i++) {
      Identity identity = identities.get(i);
      CharSequence value = values[identity.header];
      if (value != null) {
        CharSequence detail = identity.detail < 0 ? null : values[identity.detail];
        String whole = detail == null ? value.toString() : value + "/" + detail;
        return Identities.key(identity.kind, identity.source, whole);
      }
    }
    return null;
  }

  private static boolean blank(CharSequence value) {
    for (int i = 0; i < value.length(); i++) {
      if (value.charAt(i) > ' ') {
        return false;
      }
    }
    return true;
  }

  private static boolean same(String wanted, CharSequence name) {
    if (wanted.length() != name.length()) {
      return false;
    }
    for (int i = name.length() - 1; i >= 0; i--) {
      if (plain(wanted.charAt(i)) != plain(name.charAt(i))) {
        return false;
      }
    }
    return true;
  }

  private static char plain(char c) {
    if (c >= 'A' && c <= 'Z') {
      return (char) (c + ('a' - 'A'));
    }
    return c == '_' ? '-' : c;
  }
}

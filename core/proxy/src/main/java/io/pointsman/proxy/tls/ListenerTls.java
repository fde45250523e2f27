package io.pointsman.proxy.tls;

import io.netty.buffer.ByteBufAllocator;
import io.netty.handler.ssl.SslHandler;
import org.jspecify.annotations.Nullable;

/**
 * TLS of one listener, which may begin, change and end while the listener is open. Connections keep
 * the TLS with which they began. Thread-safe.
 */
public final class ListenerTls implements AutoCloseable {
  private final String group;
  private volatile State present;

  /** The settings of a listener with their context. */
  private static final class State {
    private final ServerTlsSettings settings;
    private final TlsProvider provider;
    private final boolean http2;

    /** Null in clear text. */
    private final @Nullable ServerTls tls;

    State(
        ServerTlsSettings settings, TlsProvider provider, boolean http2, @Nullable ServerTls tls) {
      this.settings = settings;
      this.provider = provider;
      this.http2 = http2;
      this.tls = tls;
    }

    /** True if HTTP/2 or the provider make no difference, or are the same. */
    boolean serves(ServerTlsSettings next, TlsProvider nextProvider, boolean nextHttp2) {
      return next.equals(settings)
          && (!next.enabled() || (nextProvider == provider && nextHttp2 == http2));
    }

    /** The conditions of later connections. */
    ConnectionConditions conditions() {
      return tls == null ? ConnectionConditions.CLEAR_TEXT : tls.conditions();
    }
  }

  private ListenerTls(String group, State first) {
    this.group = group;
    present = first;
  }

  /**
   * Reads the files, if TLS is on.
   *
   * @param group group of the configuration with the settings, for messages
   * @param http2 true to offer HTTP/2 to clients
   * @param provider implementation of TLS
   * @throws IllegalArgumentException if they cannot be used
   */
  public static ListenerTls open(
      String group, ServerTlsSettings settings, boolean http2, TlsProvider provider) {
    return new ListenerTls(group, state(group, settings, http2, provider));
  }

  /** A listener in clear text. */
  public static ListenerTls off() {
    return open("tls", ServerTlsSettings.OFF, false, TlsProvider.JDK);
  }

  private static State state(
      String group, ServerTlsSettings settings, boolean http2, TlsProvider provider) {
    return new State(
        settings,
        provider,
        http2,
        settings.enabled() ? ServerTls.open(group, settings, http2, provider) : null);
  }

  /** The TLS of one connection. */
  public final class OfConnection {
    private final ConnectionConditions conditions;
    private final @Nullable SslHandler handler;

    private OfConnection(ConnectionConditions conditions, @Nullable SslHandler handler) {
      this.conditions = conditions;
      this.handler = handler;
    }

    /** The handler of the connection; null in clear text. */
    public @Nullable SslHandler handler() {
      return handler;
    }

    /**
     * True if later connections must meet other conditions, because TLS was switched on or off, or
     * other certificates of clients are needed. The comparison is with the present conditions,
     * because several changes can lie between.
     */
    public boolean outdated() {
      return !conditions.equals(present.conditions());
    }
  }

  /** The TLS of a new connection. */
  public OfConnection connection(ByteBufAllocator allocator) {
    while (true) {
      State now = present;
      if (now.tls == null) {
        return new OfConnection(ConnectionConditions.CLEAR_TEXT, null);
      }
      ServerTls.Handshake made = now.tls.handshake(allocator);
      if (made != null) {
        return new OfConnection(made.conditions(), made.handler());
      }
      if (now == present) {
        throw new IllegalStateException(group + ": closed (expected: open)");
      }
    }
  }

  /** Other settings with their files, before and while they are in use. */
  public final class Change {
    private final State before;
    private final State after;

    private Change(State before, State after) {
      this.before = before;
      this.after = after;
    }

    /** Uses the settings for later connections. */
    public void apply() {
      present = after;
    }

    /** Uses the earlier settings again. */
    public void undo() {
      present = before;
    }

    /** Releases the settings that are not in use. */
    public void drop() {
      release(after, before);
    }

    /** Releases the earlier settings. */
    public void finish() {
      release(before, after);
      if (before != after && after.tls != null) {
        after.tls.announce();
      }
    }

    /** True if connections of one of the two settings are outdated under the other. */
    public boolean outdates() {
      return !after.conditions().equals(before.conditions());
    }

    private static void release(State unused, State used) {
      if (unused != used && unused.tls != null) {
        unused.tls.close();
      }
    }
  }

  /**
   * Reads the files for other settings. Changes nothing that is in use.
   *
   * @throws IllegalArgumentException if they cannot be used
   */
  public Change prepared(ServerTlsSettings next, boolean http2, TlsProvider provider) {
    State before = present;
    return new Change(
        before,
        before.serves(next, provider, http2) ? before : state(group, next, http2, provider));
  }

  /** True if later connections use TLS. */
  public boolean enabled() {
    return present.tls != null;
  }

  /**
   * Reads the files again. May block.
   *
   * @return true if open connections are outdated, because the CAs of clients have changed
   */
  public boolean refresh() {
    ServerTls now = present.tls;
    if (now == null) {
      return false;
    }
    ConnectionConditions before = now.conditions();
    now.refresh();
    return !now.conditions().equals(before);
  }

  /** Logs the certificate, if TLS is on. */
  public void announce() {
    ServerTls now = present.tls;
    if (now != null) {
      now.announce();
    }
  }

  /** Frees the memory of TLS. Open connections keep theirs. */
  @Override
  public void close() {
    ServerTls last = present.tls;
    if (last != null) {
      last.close();
    }
  }
}

package io.pointsman.proxy.upstream;

import io.netty.util.NetUtil;
import io.pointsman.engine.env.Ticker;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/**
 * Addresses of workers' names. Looking a name up blocks, so it is done on virtual threads, never on
 * an event loop: an unknown name is waited for, an aged one is used while it is looked up anew.
 * Safe for use by several threads.
 */
public final class NameTable {
  /** Names kept at most; beyond it the table starts anew. */
  private static final int MAX_NAMES = 65_536;

  private final long ttlNanos;
  private final Ticker ticker;
  private final Map<String, Entry> entries = new ConcurrentHashMap<>();

  /**
   * @param ttl how long an address is used before its name is looked up again
   */
  public NameTable(Duration ttl, Ticker ticker) {
    ttlNanos = ttl.toNanos();
    this.ticker = ticker;
  }

  /** Gets to know the address of a name. */
  interface Asker {
    void resolved(InetAddress address);

    void unresolved(UnknownHostException cause);
  }

  private record Entry(InetAddress address, long lookedUpAt) {}

  /**
   * Tells {@code asker} the address of {@code host}: before it returns if it is known, else later
   * on {@code executor}.
   */
  void resolve(String host, Executor executor, Asker asker) {
    InetAddress literal = NetUtil.createInetAddressFromIpAddressString(host);
    if (literal != null) {
      asker.resolved(literal);
      return;
    }
    Entry known = entries.get(host);
    if (known == null) {
      Thread.ofVirtual().name("pointsman-name").start(() -> lookUp(host, executor, asker));
      return;
    }
    long now = ticker.nanos();
    if (now - known.lookedUpAt > ttlNanos) {
      entries.put(host, new Entry(known.address, now));
      Thread.ofVirtual().name("pointsman-name").start(() -> lookUp(host, executor, null));
    }
    asker.resolved(known.address);
  }

  private void lookUp(String host, Executor executor, @Nullable Asker asker) {
    try {
      InetAddress address = InetAddress.getByName(host);
      if (entries.size() >= MAX_NAMES) {
        entries.clear();
      }
      entries.put(host, new Entry(address, ticker.nanos()));
      if (asker != null) {
        executor.execute(() -> asker.resolved(address));
      }
    } catch (UnknownHostException e) {
      if (asker != null) {
        executor.execute(() -> asker.unresolved(e));
      }
    }
  }
}

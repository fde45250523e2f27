package io.pointsman.server.scheduling;

import io.pointsman.engine.env.LargePages;
import io.pointsman.engine.env.Ticker;
import io.pointsman.proxy.LoopWaiting;
import io.pointsman.proxy.ProxyServer;
import java.lang.foreign.MemorySegment;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** All changes of the system's scheduling, or none. May change at run time. Thread-safe. */
public final class SystemScheduling {
  private final LargePages pages;
  private volatile boolean enabled;

  /** The event loops of this server get priority; null before {@link #prefer}. Guarded by this. */
  private @Nullable ProxyServer preferred;

  /** The priority of the event loops; null while there is none. Guarded by this. */
  private @Nullable LoopScheduling loops;

  /**
   * @param enabled value of the key {@code system-scheduling}
   */
  public SystemScheduling(boolean enabled) {
    this(enabled, SystemLargePages.ofThisMachine());
  }

  SystemScheduling(boolean enabled, LargePages pages) {
    this.enabled = enabled;
    this.pages = pages;
  }

  /**
   * Makes the changes from now on, or undoes them. Compiler threads keep a higher niceness, because
   * to lower it needs a privilege. Indexes keep their pages until they are made anew.
   */
  public synchronized void use(boolean next) {
    if (next == enabled) {
      return;
    }
    enabled = next;
    LoopScheduling before = loops;
    if (before != null) {
      before.end();
      loops = null;
    }
    begin();
  }

  /** Memory for prefix indexes that are made while the changes are in use. */
  public LargePages largePages() {
    return this::findPages;
  }

  private void findPages(long bytes, Consumer<MemorySegment> ready) {
    if (enabled) {
      pages.find(bytes, ready);
    }
  }

  /** How event loops wait for sockets. */
  public LoopWaiting waiting(Ticker ticker) {
    return (sockets, running) ->
        new Coalescing(sockets, running, ticker, Coalescing.SLEEP_NANOS, () -> enabled);
  }

  /** Gives the event loops of a server priority over the compiler, after a short delay. */
  public synchronized void prefer(ProxyServer server) {
    preferred = server;
    begin();
  }

  private void begin() {
    ProxyServer server = preferred;
    if (enabled && server != null) {
      loops = LoopScheduling.begin(server::executeOnLoops);
    }
  }
}

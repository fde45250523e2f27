package io.pointsman.server.scheduling;

import io.pointsman.engine.env.LargePages;
import io.pointsman.engine.env.Ticker;
import io.pointsman.proxy.LoopWaiting;
import io.pointsman.proxy.ProxyServer;

/** All changes of the system's scheduling, or none. */
public final class SystemScheduling {
  private final boolean enabled;

  /**
   * @param enabled value of the key {@code system-scheduling}
   */
  public SystemScheduling(boolean enabled) {
    this.enabled = enabled;
  }

  /** Memory for prefix indexes. */
  public LargePages largePages() {
    return enabled ? SystemLargePages.ofThisMachine() : LargePages.NONE;
  }

  /** How event loops wait for sockets. */
  public LoopWaiting waiting(Ticker ticker) {
    return enabled
        ? (sockets, running) -> new Coalescing(sockets, running, ticker, Coalescing.SLEEP_NANOS)
        : LoopWaiting.PLAIN;
  }

  /** Gives the event loops of a server priority over the compiler, after a short delay. */
  public void prefer(ProxyServer server) {
    if (enabled) {
      LoopScheduling.request(server);
    }
  }
}

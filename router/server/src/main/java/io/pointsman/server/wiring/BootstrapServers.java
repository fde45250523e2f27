package io.pointsman.server.wiring;

import io.pointsman.control.health.EngineClient;
import io.pointsman.control.peers.Bootstrap;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.Role;
import io.pointsman.pd.peer.PeerTable;
import io.pointsman.proxy.upstream.EngineKeys;
import java.io.IOException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Queries to the bootstrap servers of prefill workers, for the protocols that need them. They begin
 * and end with the protocol. Thread-safe.
 */
final class BootstrapServers implements AutoCloseable {
  private final Fleet fleet;
  private final PeerTable peers;
  private final Ticker ticker;

  /** Null while no server is asked. Guarded by this. */
  private @Nullable Bootstrap running;

  BootstrapServers(Fleet fleet, PeerTable peers, Ticker ticker) {
    this.fleet = fleet;
    this.peers = peers;
    this.ticker = ticker;
  }

  /** Begins or ends the queries. */
  synchronized void use(boolean asks) {
    Bootstrap before = running;
    if (!asks && before != null) {
      before.close();
      running = null;
    } else if (asks && before == null) {
      EngineClient client = new EngineClient(EngineKeys.NONE, ticker);
      running =
          new Bootstrap(fleet, peers, (url, wait) -> asked(client, url, wait), ticker).start();
    }
  }

  private static byte[] asked(EngineClient client, String url, Duration wait) throws IOException {
    EngineClient.Answer answer = client.send(Role.PREFILL, "GET", url, wait);
    if (!answer.good()) {
      throw new IOException("status " + answer.status());
    }
    return answer.body();
  }

  @Override
  public void close() {
    use(false);
  }
}

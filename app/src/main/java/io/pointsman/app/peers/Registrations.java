package io.pointsman.app.peers;

import io.pointsman.app.peers.MessageReader.Unusable;
import io.pointsman.engine.disagg.peer.PeerTable;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Fleet;
import java.io.IOException;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Where P2P NCCL and MoRI-IO engines announce themselves: a ZeroMQ ROUTER socket that takes one map
 * in MessagePack each few seconds. Whoever reaches it can put workers into the fleet, so it is
 * meant for a network of engines only.
 */
public final class Registrations implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(Registrations.class);

  private final ZmqListener listener;

  private Registrations(ZmqListener listener) {
    this.listener = listener;
  }

  /**
   * Begins to listen.
   *
   * @param address host:port; port 0 takes any free one
   * @param most engines that may be registered at once
   * @throws IOException if the address cannot be had
   */
  public static Registrations open(
      String address, Fleet fleet, PeerTable peers, int most, Ticker ticker) throws IOException {
    Registrar registrar = new Registrar(fleet, peers, most, ticker);
    Complaints complaints = new Complaints(log, "registrations", ticker);
    ZmqListener.Sink sink =
        new ZmqListener.Sink() {
          @Override
          public void message(List<byte[]> frames) {
            take(frames, registrar, complaints);
          }

          @Override
          public void look() {
            registrar.look();
          }
        };
    ZmqListener listener = ZmqListener.open("registrations", "ROUTER", address, sink, ticker);
    log.info("engines can register at {}, port {}", address, listener.port());
    return new Registrations(listener);
  }

  /** An empty frame may come before the map. */
  private static void take(List<byte[]> frames, Registrar registrar, Complaints complaints) {
    int at = frames.size() > 1 && frames.getFirst().length == 0 ? 1 : 0;
    try {
      Announcement said = MessageReader.registration(frames.get(at));
      if (said != null) {
        registrar.heard(said);
      }
    } catch (Unusable e) {
      complaints.add(String.valueOf(e.getMessage()));
    }
  }

  /** The port that is listened on. */
  public int port() {
    return listener.port();
  }

  /** Stops listening; the workers that have registered stay. */
  @Override
  public void close() {
    listener.close();
  }
}

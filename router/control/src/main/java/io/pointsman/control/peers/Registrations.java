package io.pointsman.control.peers;

import io.pointsman.control.names.WorkerOrigins;
import io.pointsman.control.peers.MessageReader.Unusable;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.pd.peer.PeerTable;
import java.io.IOException;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Receives registrations from P2P NCCL and MoRI-IO engines. The socket is a ZeroMQ ROUTER socket;
 * each message is a map in MessagePack, repeated every few seconds. Every host that can connect can
 * add workers, so the network must contain only engines.
 */
public final class Registrations implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(Registrations.class);

  private final ZmqListener listener;

  private Registrations(ZmqListener listener) {
    this.listener = listener;
  }

  /**
   * Starts listening.
   *
   * @param address {@code host:port}; port 0: any free port
   * @param most maximum number of registered engines
   * @param origins addresses that engines may have
   * @throws IOException if the address cannot be bound
   */
  public static Registrations open(
      String address, Fleet fleet, PeerTable peers, int most, Ticker ticker, WorkerOrigins origins)
      throws IOException {
    Registrar registrar = new Registrar(fleet, peers, most, ticker, origins);
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

  /** Processes a message; an empty frame may precede the map. */
  private static void take(List<byte[]> frames, Registrar registrar, Complaints complaints) {
    int at = frames.size() > 1 && frames.getFirst().length == 0 ? 1 : 0;
    try {
      Announcement announcement = MessageReader.registration(frames.get(at));
      if (announcement != null) {
        registrar.received(announcement);
      }
    } catch (Unusable e) {
      complaints.add(String.valueOf(e.getMessage()));
    }
  }

  public int port() {
    return listener.port();
  }

  /** Stops listening; registered workers stay in the fleet. */
  @Override
  public void close() {
    listener.close();
  }
}

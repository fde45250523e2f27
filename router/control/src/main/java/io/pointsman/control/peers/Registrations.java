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
 * Registrations of P2P NCCL and MoRI-IO engines, at one address or none. The socket is a ZeroMQ
 * ROUTER socket; each message is a map in MessagePack, repeated every few seconds. Every host that
 * can connect can add workers, so the network must contain only engines.
 *
 * <p>Engines that have registered stay without an address. If the address changes, they stay until
 * they register at the new one; from then on they have to repeat their registrations.
 */
public final class Registrations {
  private static final Logger log = LoggerFactory.getLogger(Registrations.class);

  private final Registrar registrar;
  private final Ticker ticker;

  /**
   * @param most maximum number of registered engines
   * @param origins addresses that engines may have
   */
  public Registrations(
      Fleet fleet, PeerTable peers, int most, Ticker ticker, WorkerOrigins origins) {
    registrar = new Registrar(fleet, peers, most, ticker, origins);
    this.ticker = ticker;
  }

  /**
   * Binds an address, which ignores registrations until {@link Listener#use}.
   *
   * @param address {@code host:port}; port 0: any free port
   * @throws IOException if the address cannot be bound
   */
  public Listener bind(String address) throws IOException {
    Inbox inbox = new Inbox(registrar, new Complaints(log, "registrations", ticker));
    return new Listener(
        address, inbox, ZmqListener.open("registrations", "ROUTER", address, inbox, ticker));
  }

  /** An address where engines register. */
  public final class Listener implements AutoCloseable {
    private final String address;
    private final Inbox inbox;
    private final ZmqListener socket;

    private Listener(String address, Inbox inbox, ZmqListener socket) {
      this.address = address;
      this.inbox = inbox;
      this.socket = socket;
    }

    /** Registers engines from here on. */
    public void use() {
      registrar.awaitAll();
      inbox.used = true;
      log.info("engines can register at {}, port {}", address, socket.port());
    }

    public int port() {
      return socket.port();
    }

    /** Stops listening; registered workers stay in the fleet. */
    @Override
    public void close() {
      inbox.used = false;
      socket.close();
    }
  }

  /** The messages of one address. */
  private static final class Inbox implements ZmqListener.Sink {
    private final Registrar registrar;
    private final Complaints complaints;
    private volatile boolean used;

    Inbox(Registrar registrar, Complaints complaints) {
      this.registrar = registrar;
      this.complaints = complaints;
    }

    /** Processes a message; an empty frame may precede the map. */
    @Override
    public void message(List<byte[]> frames) {
      if (!used) {
        return;
      }
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

    @Override
    public void look() {
      if (used) {
        registrar.look();
      }
    }
  }
}

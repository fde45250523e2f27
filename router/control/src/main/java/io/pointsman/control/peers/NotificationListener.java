package io.pointsman.control.peers;

import io.pointsman.control.peers.MessageReader.Unusable;
import io.pointsman.engine.env.Ticker;
import java.io.IOException;
import java.util.List;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Receives notifications from LMCache's prefill engines about blocks that have arrived. The socket
 * is a ZeroMQ PULL socket. Each message is a map in MessagePack, one per request and
 * tensor-parallel rank.
 */
public final class NotificationListener implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(NotificationListener.class);

  private final String address;
  private final ZmqListener listener;

  private NotificationListener(String address, ZmqListener listener) {
    this.address = address;
    this.listener = listener;
  }

  /**
   * Starts listening.
   *
   * @param address {@code host:port}; port 0: any free port
   * @param arrived gets the id in a notification and returns true if a request waits for it; must
   *     not block
   * @throws IOException if the address cannot be bound
   */
  public static NotificationListener open(String address, Predicate<String> arrived, Ticker ticker)
      throws IOException {
    Complaints complaints = new Complaints(log, "notifications", ticker);
    ZmqListener.Sink sink =
        new ZmqListener.Sink() {
          @Override
          public void message(List<byte[]> frames) {
            frames.forEach(frame -> take(frame, arrived, complaints));
          }

          @Override
          public void look() {
            // Nothing to do: each waiting request has its own timeout.
          }
        };
    return new NotificationListener(
        address, ZmqListener.open("notifications", "PULL", address, sink, ticker));
  }

  private static void take(byte[] frame, Predicate<String> arrived, Complaints complaints) {
    try {
      if (!arrived.test(MessageReader.notification(frame))) {
        complaints.add("no request waits for this notification");
      }
    } catch (Unusable e) {
      complaints.add(String.valueOf(e.getMessage()));
    }
  }

  /** Logs the address, because it comes into use. */
  public void announce() {
    log.info("prefill engines can send notifications to {}, port {}", address, listener.port());
  }

  public int port() {
    return listener.port();
  }

  @Override
  public void close() {
    listener.close();
  }
}

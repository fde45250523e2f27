package io.pointsman.app.peers;

import io.pointsman.app.peers.MessageReader.Unusable;
import io.pointsman.engine.env.Ticker;
import java.io.IOException;
import java.util.List;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Where LMCache's prefill engines say that their blocks have arrived: a ZeroMQ PULL socket, a map
 * in MessagePack for each request and tensor-parallel rank.
 */
public final class NotificationListener implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(NotificationListener.class);

  private final ZmqListener listener;

  private NotificationListener(ZmqListener listener) {
    this.listener = listener;
  }

  /**
   * Begins to listen.
   *
   * @param address host:port; port 0 takes any free one
   * @param arrived takes the id that a notification carries and says whether anybody waits for it;
   *     must not block
   * @throws IOException if the address cannot be had
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
            // Nothing ends by itself: whoever waits has a time limit of its own.
          }
        };
    ZmqListener listener = ZmqListener.open("notifications", "PULL", address, sink, ticker);
    log.info("prefill engines can send notifications to {}, port {}", address, listener.port());
    return new NotificationListener(listener);
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

  /** The port that is listened on. */
  public int port() {
    return listener.port();
  }

  /** Stops listening. */
  @Override
  public void close() {
    listener.close();
  }
}

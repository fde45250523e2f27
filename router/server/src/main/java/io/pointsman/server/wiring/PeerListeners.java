package io.pointsman.server.wiring;

import io.pointsman.config.settings.PeerSettings;
import io.pointsman.control.names.WorkerOrigins;
import io.pointsman.control.peers.NotificationListener;
import io.pointsman.control.peers.Registrations;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Fleet;
import java.io.IOException;
import java.util.Deque;

/**
 * Starts the receivers of data about engines as peers. Separate from the router's assembly; a
 * router without them then loads no ZeroMQ classes.
 */
final class PeerListeners {
  private PeerListeners() {}

  /**
   * Starts the receivers that the settings require.
   *
   * @param most maximum number of registered engines
   * @param control receives the resources to close, also if this method fails
   * @throws IOException if an address cannot be bound
   */
  static void open(
      PeerSettings settings,
      Disaggregation two,
      Fleet fleet,
      int most,
      Ticker ticker,
      WorkerOrigins origins,
      Deque<AutoCloseable> control)
      throws IOException {
    if (!settings.registrationAddress().isEmpty()) {
      control.push(
          Registrations.open(
              settings.registrationAddress(), fleet, two.peers(), most, ticker, origins));
    }
    if (!settings.notificationAddress().isEmpty()) {
      control.push(
          NotificationListener.open(
              settings.notificationAddress(), two.notifications()::arrived, ticker));
    }
  }
}

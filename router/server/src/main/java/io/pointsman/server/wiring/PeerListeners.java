package io.pointsman.server.wiring;

import io.pointsman.config.settings.PeerSettings;
import io.pointsman.control.names.WorkerOrigins;
import io.pointsman.control.peers.NotificationListener;
import io.pointsman.control.peers.Registrations;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Fleet;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/**
 * The receivers of data about engines as peers. They may begin, get other addresses, and end at run
 * time. Separate from the router's assembly; a router without receivers then loads no ZeroMQ
 * classes. Thread-safe.
 */
final class PeerListeners implements AutoCloseable {
  private final Disaggregation two;
  private final Fleet fleet;
  private final int most;
  private final WorkerOrigins origins;
  private final Ticker ticker;

  // Lambdas, because references to methods would load the classes of the listeners.
  private final ListenerAddress<NotificationListener> notifications =
      new ListenerAddress<>(
          address -> notificationsAt(address),
          each -> each.close(),
          (before, next) -> notificationsReplaced(before, next));

  private final ListenerAddress<Registrations.Listener> registrations =
      new ListenerAddress<>(
          address -> registered().bind(address),
          each -> each.close(),
          (before, next) -> registrationsReplaced(before, next));

  /**
   * Null before the first address for registrations. Keeps the engines that have registered.
   * Guarded by this.
   */
  private @Nullable Registrations registered;

  /**
   * @param most maximum number of registered engines
   */
  PeerListeners(Disaggregation two, Fleet fleet, int most, WorkerOrigins origins, Ticker ticker) {
    this.two = two;
    this.fleet = fleet;
    this.most = most;
    this.origins = origins;
    this.ticker = ticker;
  }

  /**
   * Starts the receivers that the settings require.
   *
   * @throws IOException if an address cannot be bound
   */
  void open(PeerSettings settings) throws IOException {
    registrations.open(settings.registrationAddress());
    notifications.open(settings.notificationAddress());
  }

  /** Binds another address of notifications, see {@link ListenerAddress#prepared}. */
  ListenerAddress<NotificationListener>.Change prepared(PeerSettings settings) throws IOException {
    return notifications.prepared(settings.notificationAddress());
  }

  private NotificationListener notificationsAt(String address) throws IOException {
    return NotificationListener.open(address, two.notifications()::arrived, ticker);
  }

  /** Requests that wait for notifications at the earlier address time out. */
  private static void notificationsReplaced(
      @Nullable NotificationListener before, @Nullable NotificationListener next) {
    if (next != null) {
      next.announce();
    }
    if (before != null) {
      before.close();
    }
  }

  /** Binds another address of registrations, see {@link ListenerAddress#prepared}. */
  ListenerAddress<Registrations.Listener>.Change preparedRegistrations(PeerSettings settings)
      throws IOException {
    return registrations.prepared(settings.registrationAddress());
  }

  /** The engines that have registered at the earlier address stay. */
  private static void registrationsReplaced(
      Registrations.@Nullable Listener before, Registrations.@Nullable Listener next) {
    if (before != null) {
      before.close();
    }
    if (next != null) {
      next.use();
    }
  }

  private synchronized Registrations registered() {
    Registrations known = registered;
    if (known == null) {
      known = new Registrations(fleet, two.peers(), most, ticker, origins);
      registered = known;
    }
    return known;
  }

  @Override
  public void close() {
    notifications.close();
    registrations.close();
  }
}

package io.pointsman.server.wiring;

import io.pointsman.config.PointsmanConfig;
import io.pointsman.proxy.identity.KeyRing;
import io.pointsman.proxy.local.CallerCheck;
import java.util.function.Function;

/**
 * The keys of callers that are in force. A change of the configuration replaces them as a whole.
 * Requests that were checked before it go on.
 */
final class CallerKeys implements AutoCloseable {
  private final Function<PointsmanConfig, CallerCheck> servers;
  private volatile RouterKeys present;

  /**
   * Reads the keys.
   *
   * @param servers makes the check by servers from a configuration
   * @throws IllegalArgumentException if a file or variable cannot be used
   */
  CallerKeys(PointsmanConfig config, Function<PointsmanConfig, CallerCheck> servers) {
    this.servers = servers;
    present = opened(config, servers, KeyRing.NONE);
  }

  private static RouterKeys opened(
      PointsmanConfig config, Function<PointsmanConfig, CallerCheck> servers, KeyRing before) {
    return RouterKeys.open(config, System::getenv, () -> servers.apply(config), before);
  }

  RouterKeys present() {
    return present;
  }

  /** The check of clients that is in force at each call, for listeners that are opened once. */
  CallerCheck callers() {
    return new PresentCallers(() -> present.callers());
  }

  /**
   * The keys of a changed configuration: the present ones if their settings are the same. Changes
   * nothing.
   *
   * @throws IllegalArgumentException if a file or variable cannot be used
   */
  RouterKeys prepared(PointsmanConfig before, PointsmanConfig next) {
    RouterKeys now = present;
    return next.auth().equals(before.auth()) ? now : opened(next, servers, now.ring());
  }

  /** Drops keys that are not in use, or not any longer. */
  @SuppressWarnings("ReferenceEquality") // the present keys stay in use
  void drop(RouterKeys others) {
    if (others != present) {
      others.close();
    }
  }

  /** Uses prepared keys from here on. The caller drops the others. */
  void use(RouterKeys prepared) {
    present = prepared;
  }

  @Override
  public void close() {
    present.close();
  }
}

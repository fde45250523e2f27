package io.pointsman.server.wiring;

import com.sun.management.UnixOperatingSystemMXBean;
import io.pointsman.proxy.ListenSettings;
import io.pointsman.proxy.ProxySettings;
import java.lang.management.ManagementFactory;
import java.lang.management.OperatingSystemMXBean;

/** The default maximum number of client connections. */
final class DefaultConnectionLimit {
  /** Share of the free descriptors; the rest is for connections to workers. */
  private static final double CLIENTS_SHARE = 0.75;

  /** Reserve for descriptors opened later: listeners, scrapes, probes, logs. */
  private static final int LATER = 64;

  /** Descriptors per event loop. */
  private static final int PER_LOOP = 4;

  private DefaultConnectionLimit() {}

  /** The settings with a limit, if the system limits descriptors. */
  static ProxySettings in(ProxySettings settings) {
    OperatingSystemMXBean os = ManagementFactory.getOperatingSystemMXBean();
    return os instanceof UnixOperatingSystemMXBean unix
        ? in(settings, unix.getMaxFileDescriptorCount(), unix.getOpenFileDescriptorCount())
        : settings;
  }

  /**
   * The settings with a limit for a process with these descriptors.
   *
   * @param most maximum number of descriptors; 0 or less if unknown
   * @param open number of open descriptors
   */
  static ProxySettings in(ProxySettings settings, long most, long open) {
    ListenSettings listen = settings.listen();
    if (listen.maxConnections() != 0 || most <= 0) {
      return settings;
    }
    long own = open + LATER + (long) PER_LOOP * listen.loops();
    long clients = (long) ((most - own) * CLIENTS_SHARE);
    return settings.withListen(
        listen.withMaxConnections(Math.clamp(clients, 1, Integer.MAX_VALUE)));
  }
}

package io.pointsman.app.wiring;

import com.sun.management.UnixOperatingSystemMXBean;
import io.pointsman.proxy.ListenSettings;
import io.pointsman.proxy.ProxySettings;
import java.lang.management.ManagementFactory;
import java.lang.management.OperatingSystemMXBean;

/** How many clients may be connected where nothing is said of it. */
final class DefaultConnectionLimit {
  /** Of the descriptors that are left; the rest is for connections to workers. */
  private static final double CLIENTS_SHARE = 0.75;

  /** For what is opened later: listeners, scrapes, probes, logs. */
  private static final int LATER = 64;

  /** For what each event loop opens. */
  private static final int PER_LOOP = 4;

  private DefaultConnectionLimit() {}

  /** The settings, with a bound of clients where the system has one of descriptors. */
  static ProxySettings in(ProxySettings settings) {
    OperatingSystemMXBean os = ManagementFactory.getOperatingSystemMXBean();
    return os instanceof UnixOperatingSystemMXBean unix
        ? in(settings, unix.getMaxFileDescriptorCount(), unix.getOpenFileDescriptorCount())
        : settings;
  }

  /**
   * The same of a process with so many descriptors.
   *
   * @param most that it may have; 0 or less if that is not known
   * @param open that it has by now
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

package io.pointsman.app.wiring;

import com.sun.management.UnixOperatingSystemMXBean;
import io.pointsman.proxy.ListenSettings;
import io.pointsman.proxy.ProxySettings;
import java.lang.management.ManagementFactory;
import java.lang.management.OperatingSystemMXBean;

/** How many clients may be connected where nothing is said of it. */
final class ClientRoom {
  /** For the program's own files, its listeners, and calls to workers besides requests. */
  private static final int OWN = 128;

  /** Of the others; the rest is for connections to workers, which idle clients need none of. */
  private static final double CLIENTS_SHARE = 0.75;

  private ClientRoom() {}

  /** The settings, with a bound of clients where the system has one of descriptors. */
  static ProxySettings within(ProxySettings settings) {
    ListenSettings listen = settings.listen();
    return listen.maxConnections() == 0
        ? settings.withListen(listen.withMaxConnections(clients(descriptors())))
        : settings;
  }

  /**
   * So many clients leave enough descriptors.
   *
   * @param descriptors that the process may have; 0 or less if that is not known
   * @return 0 for as many as come
   */
  static int clients(long descriptors) {
    return descriptors <= 0
        ? 0
        : Math.clamp((long) ((descriptors - OWN) * CLIENTS_SHARE), 1, Integer.MAX_VALUE);
  }

  private static long descriptors() {
    OperatingSystemMXBean os = ManagementFactory.getOperatingSystemMXBean();
    return os instanceof UnixOperatingSystemMXBean unix ? unix.getMaxFileDescriptorCount() : 0;
  }
}

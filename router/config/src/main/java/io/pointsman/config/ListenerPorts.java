package io.pointsman.config;

import io.pointsman.config.settings.AccessSettings;
import io.pointsman.config.settings.MetricsSettings;
import io.pointsman.proxy.ListenSettings;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/** Check that no two listeners have the same port of the same address. */
final class ListenerPorts {
  private static final Set<String> ALL_ADDRESSES = Set.of("0.0.0.0", "::", "[::]");

  private ListenerPorts() {}

  /**
   * @param key key of the port
   * @param port 0: any free port, which no other listener has
   */
  private record Place(String key, String host, int port) {
    boolean meets(Place other) {
      return port == other.port && port != 0 && sameHost(other);
    }

    private boolean sameHost(Place other) {
      return ALL_ADDRESSES.contains(host)
          || ALL_ADDRESSES.contains(other.host)
          || host.equals(other.host);
    }
  }

  /**
   * @throws ConfigException if two listeners cannot both be opened
   */
  static void check(ListenSettings listen, AccessSettings access, MetricsSettings metrics) {
    List<Place> places = new ArrayList<>();
    places.add(place("listen.port", listen.host(), listen.port()));
    if (!access.orAnyPort()) {
      places.add(place("admin.port", access.host(), access.port()));
    }
    if (metrics.enabled()) {
      places.add(place("metrics.port", metrics.host(), metrics.port()));
    }
    List<String> problems = new ArrayList<>();
    for (int later = 1; later < places.size(); later++) {
      for (Place earlier : places.subList(0, later)) {
        if (places.get(later).meets(earlier)) {
          problems.add(
              places.get(later).key
                  + ": "
                  + earlier.port
                  + " is "
                  + earlier.key
                  + " too (expected: another port)");
        }
      }
    }
    if (!problems.isEmpty()) {
      throw new ConfigException(problems);
    }
  }

  private static Place place(String key, String host, int port) {
    String name = host.toLowerCase(Locale.ROOT);
    return new Place(key, name.equals("localhost") ? "127.0.0.1" : name, port);
  }
}

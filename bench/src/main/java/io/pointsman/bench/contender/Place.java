package io.pointsman.bench.contender;

import io.pointsman.sim.FreePorts;
import java.nio.file.Path;
import java.util.List;

/**
 * Where and how large a contender is started.
 *
 * @param port where it listens
 * @param metricsPort a second port, for those that have one for metrics
 * @param workers URLs of what it stands in front of
 * @param cores that it may use
 * @param streams that it must be able to hold at once
 * @param directory for its files; exists
 */
public record Place(
    int port, int metricsPort, List<String> workers, int cores, int streams, Path directory) {
  public Place {
    workers = List.copyOf(workers);
  }

  /** On ports that were free a moment ago. */
  public static Place of(List<String> workers, int cores, int streams, Path directory) {
    return new Place(FreePorts.next(), FreePorts.next(), workers, cores, streams, directory);
  }

  String metrics() {
    return Integer.toString(metricsPort);
  }

  String listen() {
    return Integer.toString(port);
  }

  /** {@code host:port} of each worker. */
  List<String> addresses() {
    return workers.stream().map(url -> url.substring(url.indexOf("//") + 2)).toList();
  }
}

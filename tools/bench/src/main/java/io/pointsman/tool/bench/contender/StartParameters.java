package io.pointsman.tool.bench.contender;

import io.pointsman.tool.sim.FreePorts;
import java.nio.file.Path;
import java.util.List;

/**
 * Parameters for the start of a contender.
 *
 * @param port port for requests
 * @param metricsPort second port, for contenders with a metrics port
 * @param workers URLs of the workers behind it
 * @param cores number of cores that it may use
 * @param streams number of concurrent streams that it must support
 * @param directory existing directory for its files
 */
public record StartParameters(
    int port, int metricsPort, List<String> workers, int cores, int streams, Path directory) {
  public StartParameters {
    workers = List.copyOf(workers);
  }

  /** Creates parameters with two free ports. */
  public static StartParameters of(List<String> workers, int cores, int streams, Path directory) {
    return new StartParameters(
        FreePorts.next(), FreePorts.next(), workers, cores, streams, directory);
  }

  String metrics() {
    return Integer.toString(metricsPort);
  }

  String listen() {
    return Integer.toString(port);
  }

  /** Each worker as {@code host:port}. */
  List<String> addresses() {
    return workers.stream().map(url -> url.substring(url.indexOf("//") + 2)).toList();
  }
}

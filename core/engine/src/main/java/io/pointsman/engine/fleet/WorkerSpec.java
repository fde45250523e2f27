package io.pointsman.engine.fleet;

import static java.util.Objects.requireNonNull;

import java.util.Map;
import java.util.Set;

/**
 * The static description of a worker: address and purpose.
 *
 * @param id unique name within the fleet, shown to clients and in metrics; by default {@code
 *     host:port}, with data parallelism {@code host:port@rank}
 * @param url base URL of the engine, {@code http://host:port} with an optional path and without a
 *     trailing slash
 * @param role the part of a request that it serves
 * @param models names of the models it serves; empty if they must be learned from the engine
 * @param rank data-parallel rank within the engine, at least 0, or {@link #NO_RANK}
 * @param maxInFlight maximum number of requests in flight; 0 means no limit
 * @param labels free names and values, for people and for discovery
 */
public record WorkerSpec(
    String id,
    String url,
    Role role,
    Set<String> models,
    int rank,
    int maxInFlight,
    Map<String, String> labels) {

  /** The label for the machine that a worker runs on. */
  public static final String NODE_LABEL = "node";

  /** The label for the zone that a worker is in. */
  public static final String ZONE_LABEL = "zone";

  /** The {@link #rank} of a worker that is a whole engine. */
  public static final int NO_RANK = -1;

  public WorkerSpec {
    requireNonNull(role, "role");
    models = Set.copyOf(models);
    labels = Map.copyOf(labels);
    if (id.isBlank()) {
      throw new IllegalArgumentException("id: '" + id + "' (expected: a name)");
    }
    if (!url.startsWith("http://") && !url.startsWith("https://")) {
      throw new IllegalArgumentException("url: " + url + " (expected: http://host:port)");
    }
    if (rank < NO_RANK) {
      throw new IllegalArgumentException("rank: " + rank + " (expected: >= 0, or -1 for none)");
    }
    if (maxInFlight < 0) {
      throw new IllegalArgumentException("maxInFlight: " + maxInFlight + " (expected: >= 0)");
    }
  }

  /**
   * Describes a regular worker at {@code url} with models to be learned. Its id is the URL without
   * the scheme.
   */
  public static WorkerSpec of(String url) {
    return new WorkerSpec(idOf(url), url, Role.REGULAR, Set.of(), NO_RANK, 0, Map.of());
  }

  /** The default id of a worker at {@code url}: everything after the scheme. */
  public static String idOf(String url) {
    return url.substring(url.indexOf("://") + 3);
  }

  /** Returns a copy that serves {@code models}. */
  public WorkerSpec withModels(Set<String> models) {
    return new WorkerSpec(id, url, role, models, rank, maxInFlight, labels);
  }

  /** Returns a copy for data-parallel rank {@code rank}; the rank becomes part of the id. */
  public WorkerSpec withRank(int rank) {
    return new WorkerSpec(id + "@" + rank, url, role, models, rank, maxInFlight, labels);
  }

  /** Returns a copy with at most {@code maxInFlight} requests in flight. */
  public WorkerSpec withMaxInFlight(int maxInFlight) {
    return new WorkerSpec(id, url, role, models, rank, maxInFlight, labels);
  }

  /** Returns a copy with another role. */
  public WorkerSpec withRole(Role role) {
    return new WorkerSpec(id, url, role, models, rank, maxInFlight, labels);
  }

  /** Returns a copy with other labels. */
  public WorkerSpec withLabels(Map<String, String> labels) {
    return new WorkerSpec(id, url, role, models, rank, maxInFlight, labels);
  }
}

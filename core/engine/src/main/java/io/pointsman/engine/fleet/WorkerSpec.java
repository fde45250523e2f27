package io.pointsman.engine.fleet;

import static java.util.Objects.requireNonNull;
import static java.util.stream.Collectors.joining;

import io.pointsman.engine.env.LogText;
import io.soabase.recordbuilder.core.RecordBuilder;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The static description of a worker: address and purpose.
 *
 * @param id unique name within the fleet, shown to clients and in metrics; by default {@code
 *     host:port}, with data parallelism {@code host:port@rank}
 * @param url base URL of the engine, {@code http://host:port} with an optional path and without a
 *     trailing slash; see {@link #base}
 * @param role the part of a request that it serves
 * @param models names of the models it serves; empty if they must be learned from the engine
 * @param rank data-parallel rank within the engine, at least 0, or {@link #NO_RANK}
 * @param maxInFlight maximum number of requests in flight; 0 means no limit
 * @param labels free names and values, for people and for discovery
 */
@RecordBuilder
public record WorkerSpec(
    String id,
    String url,
    Role role,
    Set<String> models,
    int rank,
    int maxInFlight,
    Map<String, String> labels)
    implements WorkerSpecBuilder.With {

  private static final int LONGEST_ID = 512;

  /** Characters of a path (RFC 3986, section 3.3). */
  private static final Pattern PATH =
      Pattern.compile("(?:[A-Za-z0-9/._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})*");

  private static final Pattern SCHEME_END = Pattern.compile("://");

  /** The label for the machine that a worker runs on. */
  public static final String NODE_LABEL = "node";

  /** The label for the zone that a worker is in. */
  public static final String ZONE_LABEL = "zone";

  /** The label for the capacity of a worker in relation to others. */
  public static final String WEIGHT_LABEL = "weight";

  /** The least weight. */
  public static final double LEAST_WEIGHT = 0.01;

  /** The greatest weight. */
  public static final double MOST_WEIGHT = 100;

  /** The {@link #rank} of a worker that is a whole engine. */
  public static final int NO_RANK = -1;

  public WorkerSpec {
    requireNonNull(role, "role");
    models = Set.copyOf(models);
    labels = Map.copyOf(labels);
    if (id.isBlank()) {
      throw new IllegalArgumentException("id: '" + id + "' (expected: a name)");
    }
    if (id.length() > LONGEST_ID || id.chars().anyMatch(Character::isISOControl)) {
      // The id is a header's value, a metric's label, and a part of log lines.
      throw new IllegalArgumentException(
          "id: "
              + LogText.of(id)
              + " (expected: at most "
              + LONGEST_ID
              + " characters without control characters)");
    }
    if (!url.startsWith("http://") && !url.startsWith("https://")) {
      throw new IllegalArgumentException("url: " + shown(url) + " (expected: http://host:port)");
    }
    if (rank < NO_RANK) {
      throw new IllegalArgumentException("rank: " + rank + " (expected: >= 0, or -1 for none)");
    }
    if (maxInFlight < 0) {
      throw new IllegalArgumentException("maxInFlight: " + maxInFlight + " (expected: >= 0)");
    }
  }

  /** The reason why a text is no base URL of an engine; null if it is one. */
  public static @Nullable String problemOfUrl(String text) {
    int colon = text.indexOf("://");
    if (colon < 1) {
      return "no scheme";
    }
    String scheme = text.substring(0, colon);
    if (!scheme.equals("http") && !scheme.equals("https")) {
      return scheme.equalsIgnoreCase("http") || scheme.equalsIgnoreCase("https")
          ? "a scheme in upper case"
          : "not http or https";
    }
    String rest = text.substring(colon + 3);
    if (rest.indexOf('?') >= 0 || rest.indexOf('#') >= 0) {
      return "a query or fragment";
    }
    int slash = rest.indexOf('/');
    int at = rest.indexOf('@');
    if (at >= 0 && (slash < 0 || at < slash)) {
      return "a user or password";
    }
    if (HostPort.of(slash < 0 ? rest : rest.substring(0, slash)) == null) {
      return "not a valid host and port";
    }
    return slash < 0 || PATH.matcher(rest.substring(slash)).matches() ? null : "not a valid path";
  }

  /**
   * A text that may be a URL, for messages: a user and a password in it are replaced. The text may
   * be no valid URL, or several of them, and a password may contain every character.
   */
  public static String shown(String text) {
    return Stream.of(SCHEME_END.split(text, -1))
        .map(WorkerSpec::withoutUser)
        .collect(joining("://"));
  }

  private static String withoutUser(String part) {
    int at = part.lastIndexOf('@');
    return at < 0 ? part : "***" + part.substring(at);
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

  /**
   * The URL to which the path of a request is appended: {@link #url} without {@code /v1} at its
   * end. Requests' paths begin with {@code /v1} themselves; OpenAI's clients expect it in the URL.
   */
  public String base() {
    return url.endsWith("/v1") ? url.substring(0, url.length() - "/v1".length()) : url;
  }

  /** The weight by its label; 1 without a valid one. */
  public double weight() {
    String written = labels.get(WEIGHT_LABEL);
    try {
      double weight = written == null ? 1 : Double.parseDouble(written);
      return isWeight(weight) ? weight : 1;
    } catch (NumberFormatException _) {
      return 1;
    }
  }

  /** Returns true if {@code weight} can be a worker's weight. */
  public static boolean isWeight(double weight) {
    return weight >= LEAST_WEIGHT && weight <= MOST_WEIGHT;
  }

  /** The problem with a weight that {@link #isWeight} refuses. */
  public static String problemOfWeight(Object weight) {
    return "weight: "
        + weight
        + " (expected: "
        + LEAST_WEIGHT
        + " to "
        + (long) MOST_WEIGHT
        + "; 1 is usual)";
  }

  /** Returns a copy for data-parallel rank {@code rank}; the rank becomes part of the id. */
  public WorkerSpec atRank(int rank) {
    return with().id(id + "@" + rank).rank(rank).build();
  }
}

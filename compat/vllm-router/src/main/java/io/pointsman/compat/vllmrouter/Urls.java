package io.pointsman.compat.vllmrouter;

import io.pointsman.engine.fleet.WorkerSpec;
import java.util.List;
import java.util.stream.IntStream;

/** URLs of engines on command lines. */
public final class Urls {
  private Urls() {}

  /**
   * True for an http or https URL with a host, an optional port and path, but no query or fragment.
   */
  public static boolean valid(String url) {
    return WorkerSpec.problemOfUrl(url) == null;
  }

  /** The URL without one trailing slash. */
  public static String trimmed(String url) {
    return url.endsWith("/") ? url.substring(0, url.length() - 1) : url;
  }

  /** One worker per data-parallel rank; the given worker for one rank. */
  static List<WorkerSpec> ranks(WorkerSpec whole, int ranks) {
    return ranks == 1 ? List.of(whole) : IntStream.range(0, ranks).mapToObj(whole::atRank).toList();
  }
}

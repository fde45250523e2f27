package io.pointsman.app.admin;

import io.pointsman.engine.fleet.HostPort;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import java.net.URI;
import org.jspecify.annotations.Nullable;

/**
 * How workers are named in the worker API: by URL, with {@code @rank} behind it if they have one.
 */
final class WorkerUrls {
  private WorkerUrls() {}

  /** The name of a worker. */
  static String of(Worker worker) {
    WorkerSpec spec = worker.spec();
    return spec.rank() == WorkerSpec.NO_RANK ? spec.url() : spec.url() + "@" + spec.rank();
  }

  /** Whether {@code url} names this worker: the very one, or all ranks of its engine. */
  static boolean names(String url, Worker worker) {
    return url.equals(of(worker)) || url.equals(worker.spec().url());
  }

  /** Without trailing slashes. */
  static String trimmed(String url) {
    int end = url.length();
    while (end > 0 && url.charAt(end - 1) == '/') {
      end--;
    }
    return url.substring(0, end);
  }

  /** What is wrong with the base URL of an engine; null if nothing is. */
  static @Nullable String problem(String url) {
    String expected = url + " (expected: http://host:port)";
    try {
      URI uri = URI.create(url);
      boolean http = "http".equals(uri.getScheme()) || "https".equals(uri.getScheme());
      boolean bare = uri.getQuery() == null && uri.getFragment() == null;
      return http && bare && HostPort.of(uri.getRawAuthority()) != null ? null : expected;
    } catch (IllegalArgumentException e) {
      return expected;
    }
  }
}

package io.pointsman.api.admin;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import org.jspecify.annotations.Nullable;

/**
 * Names of workers in the worker API: the URL, with {@code @rank} appended if the worker has a
 * rank.
 */
final class WorkerUrls {
  private WorkerUrls() {}

  static String of(Worker worker) {
    WorkerSpec spec = worker.spec();
    return spec.rank() == WorkerSpec.NO_RANK ? spec.url() : spec.url() + "@" + spec.rank();
  }

  /** True if {@code url} names this worker, or its engine with all ranks. */
  static boolean names(String url, Worker worker) {
    return url.equals(of(worker)) || url.equals(worker.spec().url());
  }

  /** The URL without trailing slashes. */
  static String trimmed(String url) {
    int end = url.length();
    while (end > 0 && url.charAt(end - 1) == '/') {
      end--;
    }
    return url.substring(0, end);
  }

  /** The problem with an engine's base URL; null if it is valid. */
  static @Nullable String problem(String url) {
    String problem = WorkerSpec.problemOfUrl(url);
    return problem == null
        ? null
        : WorkerSpec.shown(url) + ": " + problem + " (expected: http://host:port)";
  }
}

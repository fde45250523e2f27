package io.pointsman.compat.vllmrouter;

import io.pointsman.config.ConfigValues;
import io.pointsman.config.key.FleetKeys;
import java.util.List;

/**
 * Kind of the engines, from {@code --backend}. All kinds get the same requests. {@code openai}
 * means one server with OpenAI's API, possibly external, which requires each client's own key.
 */
enum Backend {
  VLLM,
  OPENAI;

  /** Statuses that also count as healthy, because a server that requires a key sends them. */
  private static final List<Integer> WANTS_KEY = List.of(401, 403);

  /** Sets the backend from the flag. */
  static void choose(Given given, Translation into) {
    switch (given.value()) {
      case "vllm", "trtllm", "anthropic" -> into.backend(VLLM);
      case "openai" -> into.backend(OPENAI);
      default -> into.problem(given, given.value(), "vllm, trtllm, openai, anthropic");
    }
  }

  /** Applies the backend to the other values; called after all flags are read. */
  void settle(Translation into) {
    if (this == OPENAI) {
      checkUrls(into);
      watch(into.values());
    }
  }

  private static void checkUrls(Translation into) {
    int urls = into.workerUrls().size();
    if (urls != 1) {
      into.problems().add("--backend: openai with " + urls + " --worker-urls (expected: one)");
    }
    if (into.dataParallelSize() > 1) {
      into.problems().add("--backend: openai has no data-parallel ranks");
    }
  }

  private static void watch(ConfigValues values) {
    if (values.get(FleetKeys.HEALTH_ENDPOINT).equals(FleetKeys.HEALTH_ENDPOINT.defaultValue())) {
      values.set(FleetKeys.HEALTH_ENDPOINT, "/v1/models");
    }
    values.set(FleetKeys.HEALTH_ACCEPTED_STATUSES, WANTS_KEY);
    values.set(FleetKeys.MODELS_MERGED, false);
  }
}

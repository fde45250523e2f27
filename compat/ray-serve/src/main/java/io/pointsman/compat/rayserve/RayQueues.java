package io.pointsman.compat.rayserve;

import io.pointsman.config.ConfigValues;
import io.pointsman.config.key.QueueKeys;
import io.pointsman.config.key.RoutingKeys;
import io.pointsman.config.value.ModelQueue;
import io.pointsman.engine.fleet.WorkerSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Ray's limits on running and queued requests. If every worker of a model has a limit, their sum
 * limits the running requests, and further requests wait. Ray counts per deployment, so each of
 * several models has its own queue.
 */
final class RayQueues {
  private static final int LONGEST = 1_000_000;
  private static final int MOST_AT_ONCE = 10_000_000;

  /** Maximum numbers of running and of waiting requests of a model. */
  private record QueueLine(int most, int waiting) {}

  private final ConfigValues values;

  /**
   * @param values the translation up to here, including workers; receives the queues
   */
  RayQueues(ConfigValues values) {
    this.values = values;
  }

  void translate(List<RayLlmConfig> configs) {
    List<ModelQueue> lines = new ArrayList<>();
    for (RayLlmConfig config : configs) {
      int status = fullStatus(config.deployment().at("backpressure_config"));
      QueueLine line = line(config, configs);
      if (configs.size() == 1) {
        values.set(QueueKeys.QUEUE_FULL_STATUS, status);
      }
      if (line != null && configs.size() == 1) {
        values.set(QueueKeys.MAX_CONCURRENT, line.most());
        values.set(QueueKeys.QUEUE_SIZE, line.waiting());
      } else if (line != null) {
        lines.add(new ModelQueue(config.model, line.most(), line.waiting(), status));
      }
    }
    if (!lines.isEmpty()) {
      values.set(QueueKeys.MODEL_QUEUES, lines);
    }
  }

  private static int fullStatus(RayNode backpressure) {
    backpressure.keys(
        List.of("status_code"), Map.of("retry_after_s", "the router calculates Retry-After"));
    RayNode status = backpressure.at("status_code");
    int code = status.whole(400, 599).orElse(503);
    if (code != 503 && code != 429) {
      status.wrong(code + " (expected: 503 or 429)");
    }
    return code;
  }

  /** The limits of a model; null if its requests never wait. */
  private @Nullable QueueLine line(RayLlmConfig config, List<RayLlmConfig> all) {
    RayNode queued = config.deployment().at("max_queued_requests");
    int most = queued.whole(-1, LONGEST).orElse(-1);
    boolean discovers = all.stream().anyMatch(each -> each.node().has("discovery"));
    if (discovers && config.maxOngoing() > 0) {
      config
          .deployment()
          .at("max_ongoing_requests")
          .idle("it applies only to listed workers, not to discovered ones");
    }
    List<WorkerSpec> workers =
        values.get(RoutingKeys.WORKERS).stream()
            .filter(worker -> all.size() == 1 || worker.models().contains(config.model))
            .toList();
    boolean limited = workers.stream().allMatch(worker -> worker.maxInFlight() > 0);
    if (discovers || !limited || workers.isEmpty()) {
      if (most >= 0) {
        queued.idle(
            "requests wait only if all workers of the model are listed and have"
                + " max_ongoing_requests");
      }
      return null;
    }
    long running = workers.stream().mapToLong(WorkerSpec::maxInFlight).sum();
    return new QueueLine((int) Math.min(running, MOST_AT_ONCE), most < 0 ? LONGEST : most);
  }
}

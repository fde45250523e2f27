package io.pointsman.compat.rayserve;

import static java.util.Objects.requireNonNull;

import io.pointsman.config.ConfigException;
import io.pointsman.config.ConfigValues;
import io.pointsman.config.KvEventLabels;
import io.pointsman.config.WorkerFile;
import io.pointsman.config.key.ConfigKeys;
import io.pointsman.config.key.FleetKeys;
import io.pointsman.config.key.ForwardKeys;
import io.pointsman.config.key.Key;
import io.pointsman.config.key.OperationKeys;
import io.pointsman.config.key.RoutingKeys;
import io.pointsman.config.key.TierKeys;
import io.pointsman.config.value.ModelPolicy;
import io.pointsman.config.value.RawValue;
import io.pointsman.engine.UnknownModel;
import io.pointsman.engine.fleet.WorkerSpec;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Translates the models of a Ray Serve file: their names, workers and settings. Router, queue and
 * limits are set per model; all other settings must be equal for all models.
 */
final class RayModels {
  private static final Duration MILLI = Duration.ofMillis(1);
  private static final List<String> BACKOFF =
      List.of("initial_backoff_s", "backoff_multiplier", "max_backoff_s");

  private final ConfigValues values;
  private final RayReport report;
  private final boolean direct;

  /**
   * @param values gets the configuration
   * @param direct true if direct streaming is on, which changes the default router
   */
  RayModels(ConfigValues values, RayReport report, boolean direct) {
    this.values = values;
    this.report = report;
    this.direct = direct;
  }

  /**
   * Translates the models.
   *
   * @param configs at least one
   */
  void translate(List<RayLlmConfig> configs) {
    models(configs);
    fleet(configs);
    settings(configs);
  }

  private void models(List<RayLlmConfig> configs) {
    Set<String> names = new HashSet<>();
    for (RayLlmConfig config : configs) {
      if (!names.add(config.model)) {
        config.node().wrong("model_id: " + config.model + " (expected: each model once)");
      }
    }
    values.set(RoutingKeys.UNKNOWN_MODEL, UnknownModel.BASE_MODEL);
    configs.stream()
        .flatMap(config -> config.adaptersKept().stream())
        .max(Integer::compare)
        .ifPresent(most -> values.set(TierKeys.ADAPTERS_PER_WORKER, most));
  }

  private void fleet(List<RayLlmConfig> configs) {
    List<WorkerSpec> workers = new ArrayList<>();
    Map<String, WorkerSpec> byId = new HashMap<>();
    RayNode discovery = discovery(configs);
    for (RayLlmConfig config : configs) {
      List<WorkerSpec> own = config.workers(configs.size() > 1 ? "LLMServer:" + config.model : "");
      for (WorkerSpec worker : own) {
        WorkerSpec other = byId.putIfAbsent(worker.id(), worker);
        if (other != null) {
          config.node().at("workers").wrong("id: " + WorkerFile.sameId(other, worker));
        }
      }
      workers.addAll(own);
      if (discovery == null && own.isEmpty()) {
        config
            .node()
            .wrong(
                "no workers (expected: workers: a list of URLs, or discovery: keys as in"
                    + " kubernetes.*)");
      }
    }
    values.set(RoutingKeys.WORKERS, workers);
  }

  /** The discovery settings of all models, which must not differ; null if there are none. */
  private @Nullable RayNode discovery(List<RayLlmConfig> configs) {
    RayNode first = null;
    for (RayLlmConfig config : configs) {
      RayNode found = config.node().at("discovery");
      if (first == null && !found.absent()) {
        first = found;
        discover(found);
      } else if (first != null && !found.absent() && !same(found.raw(), first.raw())) {
        found.wrong("differs from another model's (expected: one for all models)");
      }
    }
    return first;
  }

  private void discover(RayNode discovery) {
    List<String> names =
        ConfigKeys.paths().stream()
            .filter(path -> path.startsWith("kubernetes."))
            .map(path -> path.substring("kubernetes.".length()))
            .toList();
    discovery.keys(names, Map.of());
    for (String name : names) {
      Key<?> key = ConfigKeys.at("kubernetes." + name);
      if (key != null && discovery.has(name)) {
        try {
          values.read(key, discovery.at(name).raw());
        } catch (ConfigException e) {
          report.problems.addAll(e.problems());
        }
      }
    }
  }

  private void settings(List<RayLlmConfig> configs) {
    RayLlmConfig first = configs.getFirst();
    RayRouters.translate(first.router(), direct, values);
    heed(first, values);
    backoff(first.router());
    health(first.deployment());
    List<ModelPolicy> own = new ArrayList<>();
    for (RayLlmConfig other : configs.subList(1, configs.size())) {
      ConfigValues routing = new ConfigValues();
      RayRouters.translate(other.router(), direct, routing);
      heed(other, routing);
      if (!settings(routing).equals(settings(values))) {
        own.add(new ModelPolicy(other.model, settings(routing)));
      }
      agree(other.router(), first.router(), first.model, BACKOFF);
      agree(
          other.deployment(),
          first.deployment(),
          first.model,
          List.of(
              "health_check_period_s", "health_check_timeout_s", "graceful_shutdown_timeout_s"));
    }
    if (!own.isEmpty()) {
      values.set(RoutingKeys.MODEL_POLICIES, own);
    }
    new RayQueues(values).translate(configs);
  }

  /** Enables KV events if the model's policy uses them. */
  private void heed(RayLlmConfig config, ConfigValues routing) {
    if (routing.get(RoutingKeys.POLICY).equals(RayRouters.KV_AWARE)) {
      KvEventLabels.askOthers(values);
      config.checkWeights();
    }
  }

  private static void agree(RayNode other, RayNode first, String model, List<String> keys) {
    for (String key : keys) {
      RayNode here = other.at(key);
      if (!same(here.raw(), first.at(key).raw())) {
        here.wrong("differs from that of " + model + " (expected: the same for all models)");
      }
    }
  }

  /**
   * All routing settings of a model, including defaults; otherwise those of the first model would
   * apply.
   */
  private static Map<String, String> settings(ConfigValues routing) {
    Map<String, String> settings = new TreeMap<>();
    for (Key<?> key : RoutingKeys.ofAModel()) {
      settings.put(key.path(), written(key, routing));
    }
    return settings;
  }

  private static <T> String written(Key<T> key, ConfigValues values) {
    return key.type().format(values.get(key));
  }

  /** True if two values have the same content, regardless of their positions. */
  private static boolean same(RawValue one, RawValue other) {
    return switch (one) {
      case RawValue.Scalar(String text, _) ->
          other instanceof RawValue.Scalar(String otherText, _) && text.equals(otherText);
      case RawValue.Items(List<RawValue> items, _) ->
          other instanceof RawValue.Items(List<RawValue> others, _)
              && items.size() == others.size()
              && IntStream.range(0, items.size()).allMatch(i -> same(items.get(i), others.get(i)));
      case RawValue.Entries(Map<String, RawValue> entries, _) ->
          other instanceof RawValue.Entries(Map<String, RawValue> others, _)
              && entries.keySet().equals(others.keySet())
              && entries.keySet().stream()
                  .allMatch(
                      key ->
                          same(requireNonNull(entries.get(key)), requireNonNull(others.get(key))));
    };
  }

  private void backoff(RayNode router) {
    router
        .at("initial_backoff_s")
        .seconds(Duration.ZERO)
        .ifPresent(wait -> values.set(ForwardKeys.RETRY_INITIAL_BACKOFF, wait));
    router
        .at("backoff_multiplier")
        .number(1, 100)
        .ifPresent(factor -> values.set(ForwardKeys.RETRY_MULTIPLIER, factor));
    router
        .at("max_backoff_s")
        .seconds(MILLI)
        .ifPresent(wait -> values.set(ForwardKeys.RETRY_MAX_BACKOFF, wait));
  }

  private void health(RayNode deployment) {
    deployment
        .at("health_check_period_s")
        .seconds(Duration.ofMillis(10))
        .ifPresent(period -> values.set(FleetKeys.HEALTH_INTERVAL, period));
    deployment
        .at("health_check_timeout_s")
        .seconds(MILLI)
        .ifPresent(timeout -> values.set(FleetKeys.HEALTH_TIMEOUT, timeout));
    deployment
        .at("graceful_shutdown_timeout_s")
        .seconds(Duration.ZERO)
        .ifPresent(timeout -> values.set(OperationKeys.DRAIN_TIMEOUT, timeout));
  }
}

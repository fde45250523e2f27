package io.pointsman.config;

import io.pointsman.config.key.DiscoveryKeys;
import io.pointsman.config.key.ForwardKeys;
import io.pointsman.config.key.KubernetesKeys;
import io.pointsman.config.key.PeerKeys;
import io.pointsman.config.key.RoutingKeys;
import io.pointsman.config.settings.DisaggSettings;
import io.pointsman.config.settings.DiscoverySettings;
import io.pointsman.config.settings.DiscoverySettings.DnsName;
import io.pointsman.config.settings.KubernetesSettings;
import io.pointsman.config.settings.PeerSettings;
import io.pointsman.config.value.Resolve;
import io.pointsman.engine.fleet.HostPort;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.WorkerSpec;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Builds the workers and their sources from values. */
final class DiscoveryRecords {
  private DiscoveryRecords() {}

  /** The workers, without exact repetitions. */
  static List<WorkerSpec> workers(ConfigValues values, DisaggSettings disagg) {
    List<WorkerSpec> workers =
        WorkerFile.checked("workers", values.get(RoutingKeys.WORKERS), disagg);
    return workers.stream().map(each -> resolved(each, values)).toList();
  }

  /**
   * The worker with the label for its name exactly if the name stands for several workers. A worker
   * with a key of its own is one, because keys are found by URLs.
   */
  private static WorkerSpec resolved(WorkerSpec worker, ConfigValues values) {
    Map<String, String> labels = new HashMap<>(worker.labels());
    String own = labels.remove(Resolve.LABEL);
    boolean plain = worker.url().startsWith("http://");
    boolean name = !HostPort.ofUrl(worker.url()).bareHost().matches("[0-9.]+|.*:.*");
    boolean wanted =
        own == null ? values.get(ForwardKeys.RESOLVE) == Resolve.ALL : own.equals("all");
    boolean ownKey = values.get(ForwardKeys.WORKER_KEYS).containsKey(worker.url());
    if (own != null && wanted && !plain) {
      throw new ConfigException(
          "workers: "
              + worker.id()
              + ": resolve: all (expected: one, because the certificates of"
              + " https:// name the host)");
    }
    if (own != null && wanted && ownKey) {
      throw new ConfigException(
          "workers: "
              + worker.id()
              + ": resolve: all (expected: one, because worker-api-keys has a key of its URL)");
    }
    if (wanted && plain && name && !ownKey) {
      labels.put(Resolve.LABEL, "all");
    }
    return worker.labels().equals(labels) ? worker : worker.withLabels(labels);
  }

  static DiscoverySettings discovery(ConfigValues values, DisaggSettings disagg) {
    List<DnsName> names = values.get(DiscoveryKeys.DNS);
    Set<String> shown = new HashSet<>();
    for (DnsName each : names) {
      if (!shown.add(each.shown())) {
        throw new ConfigException(
            "discovery: dns: " + each.shown() + " (expected: each name and port once)");
      }
      List<WorkerSpec> _ = WorkerFile.checked("discovery: dns", List.of(each.worker()), disagg);
    }
    return new DiscoverySettings(values.get(DiscoveryKeys.FILE), names);
  }

  static KubernetesSettings kubernetes(ConfigValues values, DisaggSettings disagg) {
    KubernetesSettings settings = kubernetes(values);
    boolean parts = settings.finds(Role.PREFILL) || settings.finds(Role.DECODE);
    if (parts && !disagg.enabled()) {
      throw new IllegalArgumentException(
          "prefillSelector, decodeSelector: set while disaggregation.protocol is off (expected: a"
              + " protocol)");
    }
    return settings;
  }

  static KubernetesSettings kubernetes(ConfigValues values) {
    return new KubernetesSettings(
        values.get(KubernetesKeys.SELECTOR),
        values.get(KubernetesKeys.PREFILL_SELECTOR),
        values.get(KubernetesKeys.DECODE_SELECTOR),
        values.get(KubernetesKeys.NAMESPACE),
        values.get(KubernetesKeys.PORT),
        values.get(KubernetesKeys.DATA_PARALLEL_SIZE),
        values.get(KubernetesKeys.URL),
        values.get(KubernetesKeys.FIND),
        values.get(KubernetesKeys.PORTS),
        values.get(KubernetesKeys.MODEL_LABEL),
        values.get(KubernetesKeys.ALIASES_LABEL),
        values.get(KubernetesKeys.EXPECT_MODELS));
  }

  static PeerSettings peers(ConfigValues values, DisaggSettings disagg) {
    return new PeerSettings(
            values.get(PeerKeys.REGISTRATION_ADDRESS), values.get(PeerKeys.NOTIFICATION_ADDRESS))
        .with(disagg.protocol());
  }
}

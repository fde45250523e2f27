package io.pointsman.config.key;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The registry of all keys, in order of documentation. */
public final class ConfigKeys {
  /**
   * A group of related keys.
   *
   * @param title heading
   */
  public record Section(String title, List<Key<?>> keys) {}

  private static final List<Section> SECTIONS =
      List.of(
          new Section("Clients", FrontKeys.all()),
          new Section("Limits of each client and model", ClientLimitKeys.all()),
          new Section("TLS for clients", ListenerKeys.ofTls()),
          new Section("HTTP/2 for clients", ListenerKeys.ofHttp2()),
          new Section("Routing", RoutingKeys.all()),
          new Section("Routing by KV events", KvAwareKeys.all()),
          new Section("Preferred workers", TierKeys.all()),
          new Section("Prefill and decode on two workers", DisaggKeys.all()),
          new Section(
              "Registration and notifications of prefill and decode engines", PeerKeys.all()),
          new Section("KV events", KvEventKeys.all()),
          new Section("Token ids of text prompts", KvTokenKeys.all()),
          new Section("Forwarding", ForwardKeys.all()),
          new Section("TLS to engines", EngineTlsKeys.all()),
          new Section("Worker health", FleetKeys.all()),
          new Section("Workers from a file and from DNS", DiscoveryKeys.all()),
          new Section("Kubernetes", KubernetesKeys.all()),
          new Section("Admin listener and paths of clients", AccessKeys.all()),
          new Section("Administration, decision log and authentication", AdminKeys.all()),
          new Section("TLS of the admin listener", ServerTlsKeys.ADMIN.all()),
          new Section("Decisions for other proxies", DecideKeys.all()),
          new Section("Files and batches", BatchKeys.all()),
          new Section("Operation", OperationKeys.all()),
          new Section("TLS of the metrics port", ServerTlsKeys.METRICS.filesAndCallers()),
          new Section("Tracing", TracingKeys.all()));

  private static final Map<String, Key<?>> BY_PATH = new LinkedHashMap<>();

  static {
    SECTIONS.forEach(section -> section.keys().forEach(key -> BY_PATH.put(key.path(), key)));
  }

  private ConfigKeys() {}

  public static List<Section> sections() {
    return SECTIONS;
  }

  public static List<Key<?>> all() {
    return List.copyOf(BY_PATH.values());
  }

  /** The key at {@code path}; null if there is none. */
  public static @Nullable Key<?> at(String path) {
    return BY_PATH.get(path);
  }

  /** True if {@code path} is a group that contains keys. */
  public static boolean isGroup(String path) {
    return BY_PATH.keySet().stream().anyMatch(key -> key.startsWith(path + "."));
  }

  public static List<String> paths() {
    return List.copyOf(BY_PATH.keySet());
  }
}

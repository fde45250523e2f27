package io.pointsman.compat.vllmrouter;

import io.pointsman.config.ConfigValues;
import io.pointsman.config.key.DisaggKeys;
import io.pointsman.config.key.ForwardKeys;
import io.pointsman.config.key.PeerKeys;
import io.pointsman.config.key.RoutingKeys;
import io.pointsman.config.settings.DisaggSettings;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.pd.peer.PeerLabels;
import io.pointsman.pd.protocol.ProtocolSettings.MinTokens;
import io.pointsman.pd.protocol.Protocols;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Settings for prefill and decode on separate workers, from vllm-router's flags. Collects them and
 * applies them after all flags are read. Confined to one thread.
 */
final class PdMode {
  static final int NO_PORT = 0;

  private static final String SWITCH = "--vllm-pd-disaggregation";
  private static final String DISCOVERY = "--vllm-discovery-address";
  private static final String ENGINES_KEY = "OPENAI_API_KEY";

  /** The protocol without a connector of vllm-router; it needs settings that have no flags. */
  private static final String NO_CONNECTOR = "lmcache";

  private static final String LMCACHE =
      ": lmcache is not a connector of vllm-router (expected: serve with disaggregation.protocol,"
          + " .receiver and .notification-address, or production-stack with --disagg-connector-type"
          + " lmcache)";

  private record Prefill(String url, int bootstrapPort) {}

  private final List<Prefill> prefills = new ArrayList<>();
  private List<String> decodes = List.of();
  private boolean on;
  private @Nullable String connector;
  private @Nullable String discovery;

  void turnOn() {
    on = true;
  }

  boolean on() {
    return on;
  }

  /**
   * @param bootstrapPort port of the bootstrap server; {@link #NO_PORT} if not given
   */
  void prefill(String url, int bootstrapPort) {
    prefills.add(new Prefill(url, bootstrapPort));
  }

  void decodes(List<String> urls) {
    decodes = List.copyOf(urls);
  }

  void discovery(String address) {
    discovery = address;
  }

  void connector(Given given, Translation into) {
    String name = given.value().replace('-', '_');
    if (name.equals(NO_CONNECTOR)) {
      into.problems().add(given.flag() + LMCACHE);
    } else if (Protocols.names().contains(name)) {
      connector = name;
    } else {
      into.problem(given, given.value(), "one of " + String.join(", ", connectors()));
    }
  }

  private static List<String> connectors() {
    return Protocols.names().stream().filter(name -> !name.equals(NO_CONNECTOR)).toList();
  }

  /**
   * Applies the flags to the configuration.
   *
   * @param environment variables of the process
   * @return the workers with their roles
   */
  List<WorkerSpec> settle(Map<String, String> environment, Translation into) {
    if (!on) {
      refuseWithoutMode(into);
      return List.of();
    }
    refuseContradictions(into);
    ConfigValues values = into.values();
    values.set(DisaggKeys.PROTOCOL, protocol());
    values.set(DisaggKeys.MIN_TOKENS, MinTokens.ONE);
    // Splits every request, even if the decode worker has the prompt cached.
    values.set(DisaggKeys.CACHED_SHARE, DisaggSettings.NEVER_CACHED);
    for (var stage : List.of(DisaggKeys.PREFILL_POLICY, DisaggKeys.DECODE_POLICY)) {
      if (!values.has(stage)) {
        values.set(stage, values.get(RoutingKeys.POLICY));
      }
    }
    if (discovery != null) {
      Translation.as(PeerKeys.REGISTRATION_ADDRESS)
          .apply(new Given(DISCOVERY, List.of(discovery)), into);
    }
    enginesKey(environment.getOrDefault(ENGINES_KEY, "").strip(), values);
    return workers(into);
  }

  /** Uses the key for listed engines instead of the client's Authorization, as vllm-router does. */
  private void enginesKey(String key, ConfigValues values) {
    if (key.isEmpty()) {
      return;
    }
    if (values.get(ForwardKeys.API_KEY).isEmpty()) {
      values.set(ForwardKeys.API_KEY, key);
    }
    values.set(ForwardKeys.API_KEY_REPLACES, discovery == null);
  }

  private String protocol() {
    if (connector != null) {
      return connector;
    }
    return discovery == null ? "nixl" : "p2p_nccl";
  }

  private void refuseWithoutMode(Translation into) {
    List<String> without = new ArrayList<>();
    if (!prefills.isEmpty()) {
      without.add("--prefill");
    }
    if (!decodes.isEmpty()) {
      without.add("--decode");
    }
    if (discovery != null) {
      without.add(DISCOVERY);
    }
    if (connector != null && !connector.equals("nixl")) {
      without.add("--kv-connector");
    }
    if (into.values().has(DisaggKeys.PREFILL_POLICY)) {
      without.add("--prefill-policy");
    }
    if (into.values().has(DisaggKeys.DECODE_POLICY)) {
      without.add("--decode-policy");
    }
    without.forEach(flag -> into.problems().add(flag + ": given without " + SWITCH));
  }

  private void refuseContradictions(Translation into) {
    if (into.backend() == Backend.OPENAI) {
      into.problems().add(SWITCH + ": given with --backend openai (expected: one of them)");
    }
    if (!into.workerUrls().isEmpty()) {
      into.problems()
          .add("--worker-urls: given with " + SWITCH + " (expected: --prefill, --decode)");
    }
    if ("moriio".equals(connector) && discovery == null) {
      into.problems().add("--kv-connector: moriio without " + DISCOVERY);
    }
    boolean found = discovery != null || into.discovers();
    if (!found && (prefills.isEmpty() || decodes.isEmpty())) {
      into.problems()
          .add(
              SWITCH
                  + ": "
                  + prefills.size()
                  + " --prefill, "
                  + decodes.size()
                  + " --decode (expected: at least one of each, or --service-discovery, or "
                  + DISCOVERY
                  + ")");
    }
  }

  private List<WorkerSpec> workers(Translation into) {
    List<WorkerSpec> workers = new ArrayList<>();
    for (Prefill prefill : prefills) {
      Map<String, String> labels =
          prefill.bootstrapPort() == NO_PORT
              ? Map.of()
              : Map.of(PeerLabels.BOOTSTRAP_PORT, "" + prefill.bootstrapPort());
      workers.addAll(workers("--prefill", prefill.url(), Role.PREFILL, labels, into));
    }
    for (String url : decodes) {
      workers.addAll(workers("--decode", url, Role.DECODE, Map.of(), into));
    }
    Set<String> ids = new HashSet<>();
    for (WorkerSpec worker : workers) {
      if (!ids.add(worker.id())) {
        into.problems().add("--prefill, --decode: " + worker.url() + " twice (expected: once)");
      }
    }
    return workers;
  }

  private static List<WorkerSpec> workers(
      String flag, String url, Role role, Map<String, String> labels, Translation into) {
    if (url.startsWith("grpc://")) {
      into.problems().add(flag + ": " + url + " is not supported yet: engines behind gRPC");
      return List.of();
    }
    if (!Urls.valid(url)) {
      into.problems().add(flag + ": " + WorkerSpec.shown(url) + " (expected: http://host:port)");
      return List.of();
    }
    WorkerSpec whole = WorkerSpec.of(Urls.trimmed(url)).withRole(role).withLabels(labels);
    return Urls.ranks(whole, into.dataParallelSize());
  }
}

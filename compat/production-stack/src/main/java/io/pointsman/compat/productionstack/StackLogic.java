package io.pointsman.compat.productionstack;

import io.pointsman.compat.vllmrouter.Translation;
import io.pointsman.compat.vllmrouter.Urls;
import io.pointsman.config.ConfigException;
import io.pointsman.config.ConfigValues;
import io.pointsman.config.YamlTree;
import io.pointsman.config.key.DisaggKeys;
import io.pointsman.config.key.FleetKeys;
import io.pointsman.config.key.ForwardKeys;
import io.pointsman.config.key.FrontKeys;
import io.pointsman.config.key.HeaderKeys;
import io.pointsman.config.key.KvEventKeys;
import io.pointsman.config.key.PeerKeys;
import io.pointsman.config.key.RoutingKeys;
import io.pointsman.config.settings.DisaggSettings;
import io.pointsman.config.settings.KvEventSettings;
import io.pointsman.config.settings.PromptListSize;
import io.pointsman.config.value.RawValue;
import io.pointsman.engine.UnknownModel;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.pd.peer.PeerLabels;
import io.pointsman.pd.protocol.ProtocolSettings.RemoteHost;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/** Translates the routing logic to a policy or to disaggregation. */
final class StackLogic {
  private static final String TRANSPARENT = "disaggregated_prefill";
  private static final String SPLIT_KEY = "OPENAI_API_KEY";
  private static final String ORCHESTRATED = "disaggregated_prefill_orchestrated";

  /** Interval between reads of the engines' own loads. */
  private static final Duration LOAD_INTERVAL = Duration.ofSeconds(2);

  /** Maximum nesting: an object of objects of lists. */
  private static final int MOST_DEPTH = 4;

  private final Wishes wishes;
  private final Translation into;
  private final ConfigValues values;

  private StackLogic(Wishes wishes, Translation into) {
    this.wishes = wishes;
    this.into = into;
    values = into.values();
  }

  /** True if the logic splits requests between two engines. */
  static boolean splits(Wishes wishes) {
    String logic = wishes.text(StackFlags.LOGIC);
    return logic.equals(TRANSPARENT) || logic.equals(ORCHESTRATED);
  }

  /**
   * Sets the routing logic in the configuration; called after the engines are set.
   *
   * @param environment variables of the process
   */
  static void settle(Wishes wishes, Map<String, String> environment, Translation into) {
    StackLogic logic = new StackLogic(wishes, into);
    logic.choose();
    logic.enginesKey(environment.getOrDefault(SPLIT_KEY, "").strip());
    logic.refuseWhatIsOfNoUse();
  }

  private void choose() {
    String logic = wishes.text(StackFlags.LOGIC);
    switch (logic) {
      case "roundrobin" -> values.set(RoutingKeys.POLICY, "round_robin");
      case "session" -> session();
      case "prefixaware" -> {
        values.set(RoutingKeys.POLICY, "cache_aware");
        values.set(RoutingKeys.CACHE_THRESHOLD, 0.0);
      }
      case TRANSPARENT -> split(wishes.has(StackPdFlags.PEER_HOST) ? "lmcache" : "transparent");
      case ORCHESTRATED -> split(wishes.text(StackPdFlags.CONNECTOR));
      case "kvaware" -> byEvents("kv_aware");
      case "loadaware" -> byEvents("load_aware");
      case "ttft" -> byEvents("cost");
      case "priority" -> priority();
      default ->
          refuse(
              (logic.isEmpty() ? "missing" : logic)
                  + " (expected: one of roundrobin, session, prefixaware, kvaware, loadaware, ttft,"
                  + " priority, "
                  + TRANSPARENT
                  + ", "
                  + ORCHESTRATED
                  + ")");
    }
  }

  /**
   * Replaces the client's Authorization with the key, as the original does with this logic only.
   */
  private void enginesKey(String key) {
    if (wishes.text(StackFlags.LOGIC).equals(TRANSPARENT) && !key.isEmpty()) {
      values.set(ForwardKeys.API_KEY, key);
      values.set(ForwardKeys.API_KEY_REPLACES, true);
    }
  }

  private void refuse(String reason) {
    into.problems().add(StackFlags.LOGIC + ": " + reason);
  }

  private void session() {
    if (!wishes.has(StackFlags.SESSION_KEY)) {
      refuse("session given without " + StackFlags.SESSION_KEY);
      return;
    }
    values.set(RoutingKeys.POLICY, "md5_ring");
    Translation.as(HeaderKeys.SESSION_HEADER).apply(wishes.as(StackFlags.SESSION_KEY), into);
    Translation.as(HeaderKeys.SESSION_FIELD).apply(wishes.as(StackFlags.SESSION_KEY), into);
  }

  /** A policy that compares prompts with engines' caches. */
  private void byEvents(String policy) {
    values.set(RoutingKeys.POLICY, policy);
    values.set(KvEventKeys.MODE, KvEventSettings.Mode.AUTO);
    if (wishes.has(StackFlags.SESSION_KEY)) {
      Translation.as(HeaderKeys.SESSION_HEADER).apply(wishes.as(StackFlags.SESSION_KEY), into);
      Translation.as(HeaderKeys.SESSION_FIELD).apply(wishes.as(StackFlags.SESSION_KEY), into);
    }
    into.notes()
        .add(
            StackFlags.LOGIC
                + " "
                + wishes.text(StackFlags.LOGIC)
                + ": is the policy "
                + policy
                + "; caches are known by the engines' KV events instead of an LMCache controller,"
                + " and by the router's placements for engines without events (vLLM:"
                + " --kv-events-config; the router's kv-events.mode is auto)");
  }

  private void priority() {
    values.set(RoutingKeys.POLICY, "priority");
    long most = 1_000_000_000;
    long standard = into.whole(wishes.as(StackFlags.PRIORITY_DEFAULT), -most, most);
    values.set(RoutingKeys.PRIORITY_DEFAULT, (int) standard);
    long threshold =
        wishes.has(StackFlags.PRIORITY_THRESHOLD)
            ? into.whole(wishes.as(StackFlags.PRIORITY_THRESHOLD), -most, most)
            : standard;
    values.set(RoutingKeys.PRIORITY_THRESHOLD, (int) threshold);
  }

  private void split(String protocol) {
    String policy =
        wishes.text(StackPdFlags.STRATEGY).equals("least_loaded") ? "least_load" : "round_robin";
    if (policy.equals("least_load")) {
      values.set(FleetKeys.ENGINE_LOAD, LOAD_INTERVAL);
    }
    values.set(RoutingKeys.POLICY, policy);
    values.set(DisaggKeys.PREFILL_POLICY, policy);
    values.set(DisaggKeys.DECODE_POLICY, policy);
    values.set(DisaggKeys.PROTOCOL, protocol);
    values.set(DisaggKeys.DECODE_WITHOUT_PREFILL, false);
    values.set(DisaggKeys.REMOTE_HOST, RemoteHost.REPLACE);
    values.set(DisaggKeys.STAGE_ERRORS, true);
    values.set(DisaggKeys.PROMPT_LISTS, PromptListSize.LENGTH);
    // The threshold alone decides, even if the decode worker has the prompt cached.
    values.set(DisaggKeys.CACHED_SHARE, DisaggSettings.NEVER_CACHED);
    // The original does not compare models here: prefill and decode engines may use different
    // names.
    values.set(RoutingKeys.UNKNOWN_MODEL, UnknownModel.ANY_WORKER);
    if (protocol.equals("lmcache")) {
      lmcache();
    }
  }

  private void lmcache() {
    String host =
        wishes.has(StackPdFlags.PROXY_HOST)
            ? wishes.text(StackPdFlags.PROXY_HOST)
            : values.get(FrontKeys.HOST);
    String address = host + ":" + wishes.text(StackPdFlags.PROXY_PORT);
    values.set(PeerKeys.NOTIFICATION_ADDRESS, address);
    if (wishes.text(StackFlags.LOGIC).equals(TRANSPARENT)) {
      receiver(StackPdFlags.PEER_HOST, StackPdFlags.PEER_INIT, StackPdFlags.PEER_ALLOC);
    } else {
      orchestratedReceivers();
    }
  }

  /**
   * Sets the receivers of decode engines. The three flags apply to engines that are not in the
   * registry.
   */
  private void orchestratedReceivers() {
    boolean registered = wishes.has(StackPdFlags.REGISTRY);
    List<String> common =
        List.of(StackPdFlags.DECODER_HOST, StackPdFlags.DECODER_INIT, StackPdFlags.DECODER_ALLOC);
    List<String> missing = common.stream().filter(flag -> !wishes.has(flag)).toList();
    if (registered) {
      registry();
    }
    if (missing.isEmpty()) {
      receiver(StackPdFlags.DECODER_HOST, StackPdFlags.DECODER_INIT, StackPdFlags.DECODER_ALLOC);
    } else if (!registered) {
      into.problems()
          .add(
              StackPdFlags.CONNECTOR
                  + ": lmcache given without "
                  + StackPdFlags.REGISTRY
                  + ", or without "
                  + StackPdFlags.DECODER_HOST
                  + ", "
                  + StackPdFlags.DECODER_INIT
                  + " and "
                  + StackPdFlags.DECODER_ALLOC);
    } else if (missing.size() < common.size()) {
      common.stream()
          .filter(wishes::has)
          .forEach(
              flag ->
                  into.problems().add(flag + ": no effect without " + String.join(", ", missing)));
    }
  }

  private void receiver(String host, String init, String alloc) {
    String text =
        wishes.text(host)
            + "/"
            + String.join(",", wishes.items(init))
            + "/"
            + String.join(",", wishes.items(alloc));
    checked(text, host + ", " + init + ", " + alloc);
    values.set(DisaggKeys.RECEIVER, text);
  }

  private boolean checked(String receiver, String where) {
    try {
      return PeerLabels.receiver(receiver) != null;
    } catch (IllegalArgumentException e) {
      into.problems().add(where + ": " + e.getMessage());
      return false;
    }
  }

  /** Adds to each decode engine its receiver in the registry. */
  private void registry() {
    Map<String, String> receivers = new HashMap<>();
    try {
      RawValue tree = tree(wishes.text(StackPdFlags.REGISTRY));
      if (!(tree instanceof RawValue.Entries(Map<String, RawValue> decoders, _))) {
        throw new ConfigException(
            StackPdFlags.REGISTRY + ": not an object (expected: {URL: {...}})");
      }
      decoders.forEach((url, entry) -> receivers.put(Urls.trimmed(url), receiver(url, entry)));
    } catch (ConfigException e) {
      into.problems().addAll(e.problems());
      return;
    }
    List<WorkerSpec> workers = new ArrayList<>();
    for (WorkerSpec worker : values.get(RoutingKeys.WORKERS)) {
      String receiver = worker.role() == Role.DECODE ? receivers.remove(worker.url()) : null;
      workers.add(receiver == null ? worker : received(worker, receiver));
    }
    values.set(RoutingKeys.WORKERS, workers);
    receivers
        .keySet()
        .forEach(
            url ->
                into.problems()
                    .add(StackPdFlags.REGISTRY + ": " + url + " (expected: a decode engine)"));
  }

  /** The registry as a tree; JSON is a subset of YAML. */
  private static RawValue tree(String text) {
    List<String> problems = new ArrayList<>();
    Optional<RawValue> tree = YamlTree.compose(StackPdFlags.REGISTRY, text, MOST_DEPTH, problems);
    if (!problems.isEmpty()) {
      throw new ConfigException(problems);
    }
    return tree.orElse(new RawValue.Scalar("", StackPdFlags.REGISTRY));
  }

  private WorkerSpec received(WorkerSpec worker, String receiver) {
    checked(receiver, StackPdFlags.REGISTRY + ": " + worker.url());
    Map<String, String> labels = new HashMap<>(worker.labels());
    labels.put(PeerLabels.RECEIVER, receiver);
    return worker.withLabels(labels);
  }

  private static String receiver(String url, RawValue entry) {
    if (!(entry instanceof RawValue.Entries(Map<String, RawValue> members, _))) {
      throw new ConfigException(StackPdFlags.REGISTRY + ": " + url + ": not an object");
    }
    return text(url, members, "receiver_host")
        + "/"
        + text(url, members, "receiver_init_port")
        + "/"
        + text(url, members, "receiver_alloc_port");
  }

  private static String text(String url, Map<String, RawValue> members, String name) {
    return switch (members.get(name)) {
      case RawValue.Scalar(String text, _) -> text;
      case RawValue.Items(List<RawValue> items, _) ->
          items.stream()
              .map(item -> item instanceof RawValue.Scalar(String text, _) ? text : "?")
              .collect(Collectors.joining(","));
      case null -> throw new ConfigException(StackPdFlags.REGISTRY + ": " + url + ": no " + name);
      case RawValue.Entries _ ->
          throw new ConfigException(StackPdFlags.REGISTRY + ": " + url + ": " + name);
    };
  }

  private void refuseWhatIsOfNoUse() {
    String protocol = values.get(DisaggKeys.PROTOCOL);
    boolean lmcache = protocol.equals("lmcache");
    boolean orchestrated = wishes.text(StackFlags.LOGIC).equals(ORCHESTRATED);
    ofNoUse(lmcache && orchestrated, StackPdFlags.REGISTRY, "");
    ofNoUse(lmcache && orchestrated, StackPdFlags.DECODER_HOST, "");
    ofNoUse(lmcache && orchestrated, StackPdFlags.DECODER_INIT, "");
    ofNoUse(lmcache && orchestrated, StackPdFlags.DECODER_ALLOC, "");
    ofNoUse(lmcache && !orchestrated, StackPdFlags.PEER_HOST, "");
    ofNoUse(lmcache && !orchestrated, StackPdFlags.PEER_INIT, StackPdFlags.PEER_INIT_STANDARD);
    ofNoUse(lmcache && !orchestrated, StackPdFlags.PEER_ALLOC, StackPdFlags.PEER_ALLOC_STANDARD);
    ofNoUse(lmcache, StackPdFlags.PROXY_HOST, "");
    ofNoUse(lmcache, StackPdFlags.PROXY_PORT, StackPdFlags.PROXY_PORT_STANDARD);
    ofNoUse(splits(wishes), StackPdFlags.STRATEGY, StackPdFlags.STRATEGY_STANDARD);
    ofNoUse(orchestrated, StackPdFlags.CONNECTOR, StackPdFlags.CONNECTOR_STANDARD);
    if (!splits(wishes) && values.get(DisaggKeys.THRESHOLD) > 0) {
      into.problems().add("--routing-threshold: given without a disaggregated " + StackFlags.LOGIC);
    }
  }

  /**
   * Refuses a flag that would have no effect.
   *
   * @param standard default of the flag, which is accepted; empty if there is none
   */
  private void ofNoUse(boolean used, String flag, String standard) {
    boolean says = wishes.has(flag) && !wishes.text(flag).equals(standard);
    if (says && !used) {
      into.problems()
          .add(
              flag
                  + ": no effect with "
                  + StackFlags.LOGIC
                  + " "
                  + wishes.text(StackFlags.LOGIC)
                  + " and "
                  + StackPdFlags.CONNECTOR
                  + " "
                  + wishes.text(StackPdFlags.CONNECTOR));
    }
  }
}

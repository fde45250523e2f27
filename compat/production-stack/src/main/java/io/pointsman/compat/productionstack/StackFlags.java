package io.pointsman.compat.productionstack;

import static io.pointsman.compat.vllmrouter.Flag.flag;
import static io.pointsman.compat.vllmrouter.Translation.as;

import io.pointsman.compat.vllmrouter.Effect;
import io.pointsman.compat.vllmrouter.Flag;
import io.pointsman.compat.vllmrouter.Flag.Shape;
import io.pointsman.compat.vllmrouter.Flag.Source;
import io.pointsman.config.key.FrontKeys;
import io.pointsman.config.key.KubernetesKeys;
import io.pointsman.config.key.KvAwareKeys;
import io.pointsman.config.key.RoutingKeys;
import io.pointsman.config.settings.HealthRequestLabel;
import java.util.List;

/** Flags of the production stack's router for listening, discovery and routing. */
final class StackFlags {
  static final String DISCOVERY = "--service-discovery";
  static final String LOGIC = "--routing-logic";
  static final String DISCOVERY_TYPE = "--k8s-service-discovery-type";
  static final String PRIORITY_HEADER = "--priority-header";
  static final String PRIORITY_DEFAULT = "--priority-default";
  static final String PRIORITY_THRESHOLD = "--priority-threshold";
  static final String BACKENDS = "--static-backends";
  static final String MODELS = "--static-models";
  static final String ALIASES = "--static-aliases";
  static final String TYPES = "--static-model-types";
  static final String CHECKS = "--static-backend-health-checks";
  static final String LABELS = "--static-model-labels";
  static final String STATIC_TIMEOUT = "--static-backend-health-check-timeout-seconds";
  static final String STATIC_INTERVAL = "--static-backend-health-check-interval";
  static final String POD_TIMEOUT = "--backend-health-check-timeout-seconds";
  static final String SELECTOR = "--k8s-label-selector";
  static final String SESSION_KEY = "--session-key";
  static final String REROUTES = "--max-instance-failover-reroute-attempts";
  static final String PREFILL_LABELS = "--prefill-model-labels";
  static final String DECODE_LABELS = "--decode-model-labels";

  private static final String CONTROLLER =
      "the router runs no LMCache controller; caches are known by the engines' KV events";

  /** The original takes any whole number here, negative ones too. */
  private static final Effect.Action ANY_NUMBER = StackOperationFlags.number(Integer.MIN_VALUE);

  private StackFlags() {}

  static List<Flag> listener() {
    return List.of(
        stack("--host", "address to listen on").standard("0.0.0.0").honoured(as(FrontKeys.HOST)),
        stack("--port", "port to listen on").standard("8001").honoured(as(FrontKeys.PORT)),
        stack("--root-path", "path prefix that a proxy in front removes")
            .idle("it affects only links in an API page that the router does not have"));
  }

  static List<Flag> discovery(Wishes wishes) {
    return List.of(
        stack(DISCOVERY, "static, k8s or external-only")
            .honoured(
                "unset with --external-providers-config: external-only",
                wishes.keep("static", "k8s", "external-only")),
        stack(DISCOVERY_TYPE, "pod-ip or service-name")
            .standard("pod-ip")
            .honoured(
                "service-name: a Service is one worker, so it should have one pod; the selector"
                    + " and the label model are compared with the Service's own labels",
                wishes.keep("pod-ip", "service-name")),
        stack(BACKENDS, "engine URLs, separated by commas")
            .honoured(
                "an invalid URL is refused instead of ignored; any host name and IPv6 are accepted",
                wishes.keep()),
        stack(MODELS, "one model for each URL, separated by commas")
            .honoured("repeat a URL for several models", wishes.keep()),
        stack(ALIASES, "aliases of models, alias:model, separated by commas")
            .honoured(
                "with any discovery; GET /v1/models lists aliases too; not in form data",
                wishes.keep()),
        stack(TYPES, "request type for probes of each engine")
            .honoured(
                "used by --static-backend-health-checks; one of "
                    + String.join(", ", HealthRequestLabel.kinds()),
                wishes.keep()),
        stack(LABELS, "one label for each URL, separated by commas").honoured(wishes.keep()),
        stack(CHECKS, "probe engines with a real request of their type")
            .shape(Shape.SWITCH)
            .honoured(
                "after a good GET /health, which is always sent (an engine without this path counts"
                    + " as healthy); all engines at the same time; a model that fails leaves its"
                    + " engine until the request succeeds",
                (given, into) -> wishes.note(CHECKS)),
        stack(STATIC_INTERVAL, "seconds between probes")
            .standard("60")
            .honoured("after a failed request, its engine is probed at once", wishes.keep()),
        stack(STATIC_TIMEOUT, "maximum duration of a probe").standard("10").honoured(wishes.keep()),
        stack("--k8s-port", "engine port in the pods")
            .standard("8000")
            .honoured(as(KubernetesKeys.PORT)),
        stack("--k8s-namespace", "namespace of the pods")
            .standard("default")
            .honoured(as(KubernetesKeys.NAMESPACE)),
        stack(SELECTOR, "pod labels, label=value, separated by commas")
            .honoured(
                "required with k8s; label in (a, b) is accepted, other selectors are refused",
                wishes.keep()),
        stack("--k8s-watcher-timeout-seconds", "maximum duration of a watch")
            .standard("0")
            .idle("a watch is renewed when the API ends it", ANY_NUMBER),
        stack(POD_TIMEOUT, "maximum duration of a request to a pod")
            .standard("10")
            .honoured(wishes.keep()));
  }

  static List<Flag> routing(Wishes wishes) {
    return List.of(
        stack(LOGIC, "policy that chooses an engine")
            .honoured(
                "roundrobin: round_robin; session: md5_ring; prefixaware: cache_aware; kvaware:"
                    + " kv_aware; loadaware: load_aware; ttft: cost; priority: priority;"
                    + " disaggregated_prefill and disaggregated_prefill_orchestrated: see below",
                wishes.keep()),
        stack(SESSION_KEY, "header and body field with the session id")
            .honoured("in the body, a string or a number", wishes.keep()),
        stack("--prefix-min-match-length", "minimum matching characters for prefixaware")
            .standard("0")
            .honoured(
                "in bytes of text; a shorter match counts as none; negative means 0",
                (given, into) ->
                    into.values()
                        .set(
                            RoutingKeys.MIN_MATCH_LENGTH,
                            (int)
                                Math.max(
                                    0, into.whole(given, Integer.MIN_VALUE, Integer.MAX_VALUE)))),
        stack(REROUTES, "maximum number of further engines for a failed request")
            .standard("0")
            .honoured(
                "each attempt uses another engine; an invalid response head is retried too; a"
                    + " connection that breaks more than 1 s after the request is retried once",
                wishes.keep()),
        stack("--kv-aware-threshold", "maximum uncached tokens for kvaware")
            .standard("2000")
            .idle(
                "the policy kv_aware weighs uncached tokens against load, without a limit",
                ANY_NUMBER),
        stack("--lmcache-controller-port", "port where LMCache workers report their chunks")
            .standard("9000")
            .idle(CONTROLLER, ANY_NUMBER),
        stack("--lmcache-controller-reply-port", "port where LMCache workers register")
            .idle(CONTROLLER, ANY_NUMBER),
        stack("--lmcache-controller-heartbeat-port", "port for heartbeats of LMCache workers")
            .idle(CONTROLLER, ANY_NUMBER),
        stack("--lmcache-health-check-interval", "seconds between checks of LMCache workers")
            .standard("5")
            .idle(CONTROLLER, ANY_NUMBER),
        stack("--lmcache-worker-timeout", "seconds until a silent LMCache worker is removed")
            .standard("30")
            .idle(CONTROLLER, ANY_NUMBER),
        proposed("--tokenizer", "tokenizer for ttft")
            .idle("engines are asked for token ids (kv-tokens.enabled)"),
        proposed("--enable-shared-cache", "shared cache for ttft")
            .shape(Shape.SWITCH)
            .idle("blocks in a shared pool count by kv-aware.external-credit"),
        proposed("--lmcache-instances", "LMCache instances for ttft").idle(CONTROLLER),
        newer("--loadaware-beta", "weight of load in loadaware")
            .honoured("unset: LOADAWARE_BETA, else 1", as(KvAwareKeys.LOAD_WEIGHT)),
        newer(PRIORITY_HEADER, "header with the request's priority")
            .standard("x-request-priority")
            .honoured(as(RoutingKeys.PRIORITY_HEADER)),
        newer("--priority-field", "body field with the request's priority")
            .standard("priority")
            .honoured(as(RoutingKeys.PRIORITY_FIELD)),
        newer(PRIORITY_DEFAULT, "priority of requests without one")
            .standard("0")
            .honoured(wishes.keep()),
        newer(PRIORITY_THRESHOLD, "priority below which the least loaded engine is chosen")
            .honoured("unset: --priority-default", wishes.keep()));
  }

  static Flag.Builder stack(String name, String meaning) {
    return flag(name, meaning).only(Source.STACK);
  }

  static Flag.Builder newer(String name, String meaning) {
    return flag(name, meaning).only(Source.STACK_NEWER);
  }

  static Flag.Builder proposed(String name, String meaning) {
    return flag(name, meaning).only(Source.STACK_PROPOSED);
  }
}

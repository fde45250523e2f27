package io.pointsman.app.compat.stack;

import static io.pointsman.app.compat.Flag.flag;
import static io.pointsman.app.compat.Translation.as;

import io.pointsman.app.compat.Flag;
import io.pointsman.app.compat.Flag.Shape;
import io.pointsman.app.compat.Flag.Source;
import io.pointsman.app.config.key.FrontKeys;
import io.pointsman.app.config.key.KubernetesKeys;
import java.util.List;

/** Flags of the production stack's router for listening, discovery and routing. */
final class StackFlags {
  static final String DISCOVERY = "--service-discovery";
  static final String LOGIC = "--routing-logic";
  static final String BACKENDS = "--static-backends";
  static final String MODELS = "--static-models";
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
      "routing by LMCache's controller, which only kvaware does";

  private static final String PRIORITY = "the logic priority";

  private StackFlags() {}

  static List<Flag> listener() {
    return List.of(
        stack("--host", "address to listen on").standard("0.0.0.0").honoured(as(FrontKeys.HOST)),
        stack("--port", "port to listen on").standard("8001").honoured(as(FrontKeys.PORT)),
        stack("--root-path", "prefix that a proxy in front takes away")
            .idle("it only changes links in a page of documentation, which is not here"));
  }

  static List<Flag> discovery(Wishes wishes) {
    return List.of(
        stack(DISCOVERY, "static, k8s or external-only")
            .honoured(
                "external-only is refused: providers outside are not supported",
                wishes.keep("static", "k8s", "external-only")),
        stack("--k8s-service-discovery-type", "pod-ip or service-name")
            .standard("pod-ip")
            .refused("engines behind a Service cannot be told apart; pods are found by address"),
        stack(BACKENDS, "URLs of engines, with commas")
            .honoured(
                "one that is no URL is refused instead of left out; names of any form and IPv6"
                    + " are taken",
                wishes.keep()),
        stack(MODELS, "one model for each URL, with commas")
            .honoured("a URL may stand several times, once for each model", wishes.keep()),
        stack("--static-aliases", "names for models, as alias:model with commas")
            .refused(
                "bodies are passed on as they came; let engines serve the name"
                    + " (--served-model-name)"),
        stack("--static-model-types", "what each engine is probed with")
            .idle("engines are probed by GET /health, not with a request of their kind"),
        stack(LABELS, "one label for each URL, with commas").honoured(wishes.keep()),
        stack("--static-backend-health-checks", "probes engines")
            .shape(Shape.SWITCH)
            .idle(
                "engines are probed in any case, by GET /health; one without that path counts as"
                    + " well"),
        stack(STATIC_INTERVAL, "seconds between probes")
            .standard("60")
            .honoured("a failed request has its engine probed at once", wishes.keep()),
        stack(STATIC_TIMEOUT, "longest probe").standard("10").honoured(wishes.keep()),
        stack("--k8s-port", "port of the engines in the pods")
            .standard("8000")
            .honoured(as(KubernetesKeys.PORT)),
        stack("--k8s-namespace", "namespace of the pods")
            .standard("default")
            .honoured(as(KubernetesKeys.NAMESPACE)),
        stack(SELECTOR, "labels of the pods, as label=value with commas")
            .honoured(
                "needed with k8s; also as label in (a, b), other selectors are refused",
                wishes.keep()),
        stack("--k8s-watcher-timeout-seconds", "longest watch")
            .standard("0")
            .idle("watches are renewed as the API ends them"),
        stack(POD_TIMEOUT, "longest question to a pod").standard("10").honoured(wishes.keep()));
  }

  static List<Flag> routing(Wishes wishes) {
    return List.of(
        stack(LOGIC, "how an engine is chosen")
            .honoured(
                "roundrobin is round_robin, session is md5_ring, prefixaware is cache_aware"
                    + " by load, the two disaggregated ones are below; kvaware is refused: it asks"
                    + " LMCache's controller; so are ttft, loadaware and priority",
                wishes.keep()),
        stack(SESSION_KEY, "header and body field that name a session")
            .honoured("in the body a text or a number", wishes.keep()),
        stack("--prefix-min-match-length", "characters that prefixaware must match")
            .standard("0")
            .refused("matches are judged by the share of the prompt (cache.threshold of serve)"),
        stack(REROUTES, "further engines that a failed request is tried on")
            .standard("0")
            .honoured(
                "also after a broken answer's head; where a connection broke more than a second"
                    + " after the request was sent, on one; each on another engine",
                wishes.keep()),
        stack("--kv-aware-threshold", "tokens that kvaware lets be uncached")
            .standard("2000")
            .refused(CONTROLLER),
        stack("--lmcache-controller-port", "where LMCache's workers tell of their chunks")
            .standard("9000")
            .refused(CONTROLLER),
        stack("--lmcache-controller-reply-port", "where they register").refused(CONTROLLER),
        stack("--lmcache-controller-heartbeat-port", "where they are heard").refused(CONTROLLER),
        stack("--lmcache-health-check-interval", "seconds between looks at them")
            .standard("5")
            .refused(CONTROLLER),
        stack("--lmcache-worker-timeout", "seconds until one is gone")
            .standard("30")
            .refused(CONTROLLER),
        proposed("--tokenizer", "tokenizer of ttft").refused("the logic ttft"),
        proposed("--enable-shared-cache", "shared cache of ttft")
            .shape(Shape.SWITCH)
            .refused("the logic ttft"),
        proposed("--lmcache-instances", "instances of ttft").refused("the logic ttft"),
        newer("--loadaware-beta", "weight of load in loadaware").refused("the logic loadaware"),
        newer("--priority-header", "header that tells a request's priority")
            .standard("x-request-priority")
            .refused(PRIORITY),
        newer("--priority-field", "field of the body that does")
            .standard("priority")
            .refused(PRIORITY),
        newer("--priority-default", "priority of requests that tell none")
            .standard("0")
            .refused(PRIORITY),
        newer("--priority-threshold", "priority below which the least loaded engine is chosen")
            .refused(PRIORITY));
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

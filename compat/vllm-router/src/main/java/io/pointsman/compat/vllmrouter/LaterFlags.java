package io.pointsman.compat.vllmrouter;

import static io.pointsman.compat.vllmrouter.Flag.flag;

import io.pointsman.compat.vllmrouter.Flag.Shape;
import io.pointsman.compat.vllmrouter.Flag.Source;
import java.util.List;

/**
 * Flags of vllm-router 0.1.17 for features that do not exist here. They are refused with the
 * reason, except {@code --enable-igw}, which has no effect.
 */
final class LaterFlags {
  private static final String PROGRAMS = "Program scheduling";
  private static final String WASM = "WASM request middleware";

  private LaterFlags() {}

  static List<Flag> disaggregation() {
    return List.of(
        flag("--profile", "engine profiles of both stages")
            .shape(Shape.SWITCH)
            .only(Source.RUST)
            .later("engine profiling by the router"),
        flag("--mini-lb", "small load balancer for debugging")
            .shape(Shape.SWITCH)
            .only(Source.PYTHON)
            .later("second load balancer for debugging"),
        flag("--epd-config", "encoder engines, as JSON")
            .only(Source.RUST)
            .later("encoder disaggregation"));
  }

  static List<Flag> scheduling() {
    return List.of(
        flag("--enable-program-scheduling", "Program scheduling")
            .shape(Shape.SWITCH)
            .later(PROGRAMS),
        flag("--program-scheduling-config-json", "settings of program scheduling, as JSON")
            .later(PROGRAMS),
        flag("--wasm-middleware", "WASM component that processes requests").later(WASM),
        flag("--wasm-middleware-sha256", "SHA-256 digest of the component").later(WASM),
        flag("--wasm-middleware-route", "path that the component processes")
            .shape(Shape.REPEATED)
            .standard("/v1/chat/completions")
            .later(WASM));
  }

  static List<Flag> platform() {
    return List.of(
        flag("--enable-igw", "routing by model to several fleets")
            .shape(Shape.SWITCH)
            .idle(
                "the router always serves several models and accepts workers at run time; prefill"
                    + " and decode need --vllm-pd-disaggregation; labels, priority and cost of"
                    + " workers have no effect"));
  }
}

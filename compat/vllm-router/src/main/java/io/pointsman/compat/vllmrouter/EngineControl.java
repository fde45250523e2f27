package io.pointsman.compat.vllmrouter;

import java.util.List;

/**
 * Paths that control a vLLM engine: sleep, pause, cache reset, weights. If such a request were
 * routed, it would reach one arbitrary engine, and that engine would stay in rotation.
 */
public final class EngineControl {
  /** For {@code admin.refused-paths}, if the other router does not forward them either. */
  public static final List<String> PATHS =
      List.of(
          "/sleep",
          "/wake_up",
          "/is_sleeping",
          "/pause",
          "/resume",
          "/is_paused",
          "/abort_requests",
          "/reset_prefix_cache",
          "/reset_mm_cache",
          "/reset_encoder_cache",
          "/collective_rpc",
          "/start_profile",
          "/stop_profile",
          "/init_weight_transfer_engine",
          "/update_weights",
          "/scale_elastic_ep",
          "/v1/load_lora_adapter",
          "/v1/unload_lora_adapter");

  private EngineControl() {}
}

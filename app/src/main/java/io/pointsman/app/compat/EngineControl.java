package io.pointsman.app.compat;

import java.util.List;

/**
 * Paths by which vLLM's engines are put to sleep, paused, emptied or changed. Passed on like any
 * other they would reach one engine of the fleet, whichever the policy picks, and it would stay in
 * rotation.
 */
public final class EngineControl {
  /** For {@code admin.refused-paths} where the other router does not pass them on either. */
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

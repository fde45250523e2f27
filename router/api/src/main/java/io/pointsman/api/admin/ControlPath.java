package io.pointsman.api.admin;

import java.util.List;

/**
 * A path of engines, closed for clients, that changes or shows the state of a whole engine. A
 * request for it goes to all engines of a model, not to one that a policy chooses.
 *
 * @param method HTTP method of the engine's route
 * @param path exact path; one that ends in a slash stands for all paths below it
 * @param effect effect on the router's own view of the engine
 */
public record ControlPath(String method, String path, Effect effect) {
  /** Effect of a successful call. */
  public enum Effect {
    /** The router's view stays valid. */
    NONE,
    /** The engine serves other models or adapters. */
    MODELS,
    /** The engine accepts no work until it wakes. */
    SLEEPS,
    /** The engine may accept work again. */
    WAKES
  }

  /** The control paths of vLLM 0.32, SGLang, TensorRT-LLM, LMDeploy and llama.cpp. */
  public static final List<ControlPath> ALL =
      List.of(
          post("/sleep", Effect.SLEEPS),
          post("/wake_up", Effect.WAKES),
          get("/is_sleeping"),
          post("/pause", Effect.SLEEPS),
          post("/resume", Effect.WAKES),
          get("/is_paused"),
          post("/release_kv_cache_memory", Effect.SLEEPS),
          post("/v1/load_lora_adapter", Effect.MODELS),
          post("/v1/unload_lora_adapter", Effect.MODELS),
          post("/adapters", Effect.MODELS),
          new ControlPath("DELETE", "/adapters/", Effect.MODELS),
          post("/abort_requests", Effect.NONE),
          post("/inference/v1/abort_requests", Effect.NONE),
          post("/reset_prefix_cache", Effect.NONE),
          post("/reset_mm_cache", Effect.NONE),
          post("/reset_encoder_cache", Effect.NONE),
          post("/collective_rpc", Effect.NONE),
          post("/start_profile", Effect.NONE),
          post("/stop_profile", Effect.NONE),
          post("/init_weight_transfer_engine", Effect.NONE),
          post("/shutdown_weight_transfer_engine", Effect.NONE),
          post("/start_weight_update", Effect.NONE),
          post("/start_draft_weight_update", Effect.NONE),
          post("/update_weights", Effect.NONE),
          post("/finish_weight_update", Effect.NONE),
          post("/update_weight_version", Effect.NONE),
          get("/weight_info"),
          get("/get_world_size"),
          get("/kv_event_sources"),
          post("/weight_checker", Effect.NONE),
          post("/scale_elastic_ep", Effect.NONE),
          post("/is_scaling_elastic_ep", Effect.NONE),
          post("/fault_tolerance/apply", Effect.NONE),
          get("/fault_tolerance/status"),
          post("/load_lora_adapter", Effect.MODELS),
          post("/unload_lora_adapter", Effect.MODELS),
          post("/release_memory_occupation", Effect.SLEEPS),
          post("/resume_memory_occupation", Effect.WAKES),
          post("/pause_generation", Effect.SLEEPS),
          post("/continue_generation", Effect.WAKES),
          post("/abort_request", Effect.NONE),
          post("/flush_cache", Effect.NONE),
          post("/init_weights_update_group", Effect.NONE),
          post("/destroy_weights_update_group", Effect.NONE),
          post("/update_weights_from_disk", Effect.NONE),
          post("/update_weights_from_distributed", Effect.NONE),
          post("/update_weights_from_tensor", Effect.NONE),
          post("/update_weights_from_ipc", Effect.NONE),
          post("/load_lora_adapter_from_tensors", Effect.MODELS),
          get("/server_info"),
          get("/get_server_info"),
          get("/get_internal_state"),
          post("/set_internal_state", Effect.NONE),
          post("/get_weights_by_name", Effect.NONE),
          post("/weights_checker", Effect.NONE),
          post("/post_process_weights", Effect.NONE),
          post("/init_weights_send_group_for_remote_instance", Effect.NONE),
          post("/send_weights_to_remote_instance", Effect.NONE),
          get("/get_remote_instance_transfer_engine_info"),
          post("/clear_hicache_storage_backend", Effect.NONE),
          new ControlPath("PUT", "/hicache/storage-backend", Effect.NONE),
          new ControlPath("DELETE", "/hicache/storage-backend", Effect.NONE),
          get("/hicache/storage-backend"),
          post("/hicache/storage-backend/clear", Effect.NONE),
          post("/add_external_corpus", Effect.NONE),
          post("/remove_external_corpus", Effect.NONE),
          get("/list_external_corpora"),
          post("/start_expert_distribution_record", Effect.NONE),
          post("/stop_expert_distribution_record", Effect.NONE),
          post("/dump_expert_distribution_record", Effect.NONE),
          post("/configure_logging", Effect.NONE),
          post("/set_trace_level", Effect.NONE),
          post("/freeze_gc", Effect.NONE),
          post("/slow_down", Effect.NONE),
          post("/release_memory", Effect.SLEEPS),
          post("/resume_memory", Effect.WAKES),
          post("/kv_cache_events", Effect.NONE),
          get("/perf_metrics"),
          post("/wakeup", Effect.WAKES),
          post("/terminate", Effect.NONE),
          post("/lora-adapters", Effect.NONE),
          get("/lora-adapters"),
          post("/models/load", Effect.MODELS),
          post("/models/unload", Effect.MODELS));

  /**
   * Further paths of engines that are closed for clients. They change one engine, or are not known
   * to end soon, so the router sends them to none: the operator calls the engine. From the APIs of
   * SGLang, LMDeploy, llama.cpp, Ollama and Triton. One that ends in a slash stands for all paths
   * below it.
   */
  public static final List<String> DIRECT_ONLY =
      List.of(
          "/open_session",
          "/close_session",
          "/dumper/",
          "/distserve/",
          "/slots",
          "/slots/",
          "/props",
          "/api/pull",
          "/api/push",
          "/api/create",
          "/api/copy",
          "/api/delete",
          "/api/blobs/",
          "/prometheus/metrics",
          "/v2/repository/",
          "/v2/systemsharedmemory/",
          "/v2/cudasharedmemory/",
          "/v2/logging",
          "/v2/trace/setting");

  private static ControlPath get(String path) {
    return new ControlPath("GET", path, Effect.NONE);
  }

  private static ControlPath post(String path, Effect effect) {
    return new ControlPath("POST", path, effect);
  }

  /** True if the path stands for all paths below it. */
  public boolean prefix() {
    return path.endsWith("/");
  }

  /** True for a request that aborts other requests. */
  boolean aborts() {
    return path.contains("/abort_request");
  }

  /** True for a request that loads or removes an adapter. */
  boolean ofAdapters() {
    return effect == Effect.MODELS;
  }

  /** True for a request that can only succeed where the adapter is. */
  boolean removes() {
    return ofAdapters() && (path.contains("unload") || method.equals("DELETE"));
  }
}

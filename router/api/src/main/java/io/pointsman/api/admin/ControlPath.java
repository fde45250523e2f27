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
public record ControlPath(String method, String path, ControlEffect effect) {
  /** Effect of a successful call. */
  public enum ControlEffect {
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
          post("/sleep", ControlEffect.SLEEPS),
          post("/wake_up", ControlEffect.WAKES),
          get("/is_sleeping"),
          post("/pause", ControlEffect.SLEEPS),
          post("/resume", ControlEffect.WAKES),
          get("/is_paused"),
          post("/release_kv_cache_memory", ControlEffect.SLEEPS),
          post("/v1/load_lora_adapter", ControlEffect.MODELS),
          post("/v1/unload_lora_adapter", ControlEffect.MODELS),
          post("/adapters", ControlEffect.MODELS),
          new ControlPath("DELETE", "/adapters/", ControlEffect.MODELS),
          post("/abort_requests", ControlEffect.NONE),
          post("/inference/v1/abort_requests", ControlEffect.NONE),
          post("/reset_prefix_cache", ControlEffect.NONE),
          post("/reset_mm_cache", ControlEffect.NONE),
          post("/reset_encoder_cache", ControlEffect.NONE),
          post("/collective_rpc", ControlEffect.NONE),
          post("/start_profile", ControlEffect.NONE),
          post("/stop_profile", ControlEffect.NONE),
          post("/init_weight_transfer_engine", ControlEffect.NONE),
          post("/shutdown_weight_transfer_engine", ControlEffect.NONE),
          post("/start_weight_update", ControlEffect.NONE),
          post("/start_draft_weight_update", ControlEffect.NONE),
          post("/update_weights", ControlEffect.NONE),
          post("/finish_weight_update", ControlEffect.NONE),
          post("/update_weight_version", ControlEffect.NONE),
          get("/weight_info"),
          get("/get_world_size"),
          get("/kv_event_sources"),
          post("/weight_checker", ControlEffect.NONE),
          post("/scale_elastic_ep", ControlEffect.NONE),
          post("/is_scaling_elastic_ep", ControlEffect.NONE),
          post("/fault_tolerance/apply", ControlEffect.NONE),
          get("/fault_tolerance/status"),
          post("/load_lora_adapter", ControlEffect.MODELS),
          post("/unload_lora_adapter", ControlEffect.MODELS),
          post("/release_memory_occupation", ControlEffect.SLEEPS),
          post("/resume_memory_occupation", ControlEffect.WAKES),
          post("/pause_generation", ControlEffect.SLEEPS),
          post("/continue_generation", ControlEffect.WAKES),
          post("/abort_request", ControlEffect.NONE),
          post("/flush_cache", ControlEffect.NONE),
          post("/init_weights_update_group", ControlEffect.NONE),
          post("/destroy_weights_update_group", ControlEffect.NONE),
          post("/update_weights_from_disk", ControlEffect.NONE),
          post("/update_weights_from_distributed", ControlEffect.NONE),
          post("/update_weights_from_tensor", ControlEffect.NONE),
          post("/update_weights_from_ipc", ControlEffect.NONE),
          post("/load_lora_adapter_from_tensors", ControlEffect.MODELS),
          get("/server_info"),
          get("/get_server_info"),
          get("/get_internal_state"),
          post("/set_internal_state", ControlEffect.NONE),
          post("/get_weights_by_name", ControlEffect.NONE),
          post("/weights_checker", ControlEffect.NONE),
          post("/post_process_weights", ControlEffect.NONE),
          post("/init_weights_send_group_for_remote_instance", ControlEffect.NONE),
          post("/send_weights_to_remote_instance", ControlEffect.NONE),
          get("/get_remote_instance_transfer_engine_info"),
          post("/clear_hicache_storage_backend", ControlEffect.NONE),
          new ControlPath("PUT", "/hicache/storage-backend", ControlEffect.NONE),
          new ControlPath("DELETE", "/hicache/storage-backend", ControlEffect.NONE),
          get("/hicache/storage-backend"),
          post("/hicache/storage-backend/clear", ControlEffect.NONE),
          post("/add_external_corpus", ControlEffect.NONE),
          post("/remove_external_corpus", ControlEffect.NONE),
          get("/list_external_corpora"),
          post("/start_expert_distribution_record", ControlEffect.NONE),
          post("/stop_expert_distribution_record", ControlEffect.NONE),
          post("/dump_expert_distribution_record", ControlEffect.NONE),
          post("/configure_logging", ControlEffect.NONE),
          post("/set_trace_level", ControlEffect.NONE),
          post("/freeze_gc", ControlEffect.NONE),
          post("/slow_down", ControlEffect.NONE),
          post("/release_memory", ControlEffect.SLEEPS),
          post("/resume_memory", ControlEffect.WAKES),
          post("/kv_cache_events", ControlEffect.NONE),
          get("/perf_metrics"),
          post("/wakeup", ControlEffect.WAKES),
          post("/terminate", ControlEffect.NONE),
          post("/lora-adapters", ControlEffect.NONE),
          get("/lora-adapters"),
          post("/models/load", ControlEffect.MODELS),
          post("/models/unload", ControlEffect.MODELS));

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
    return new ControlPath("GET", path, ControlEffect.NONE);
  }

  private static ControlPath post(String path, ControlEffect effect) {
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
    return effect == ControlEffect.MODELS;
  }

  /** True for a request that can only succeed where the adapter is. */
  boolean removes() {
    return ofAdapters() && (path.contains("unload") || method.equals("DELETE"));
  }
}

package io.pointsman.api.admin;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import io.pointsman.api.admin.ClientPaths.RefusalListener;
import io.pointsman.proxy.local.ClosedPaths;
import io.pointsman.proxy.local.LocalEndpoint;
import io.pointsman.proxy.local.LocalRequest;
import io.pointsman.proxy.local.LocalResponse;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class ClientPathsTest {
  private static final ClosedPaths STANDARD =
      ClientPaths.closed(
          List.of(),
          Set.of("/own", "/health"),
          List.of(),
          Set.of("/health"),
          RefusalListener.IGNORED);

  /** The answer to a closed path; empty for an open one. */
  private static String answer(ClosedPaths closed, String method, String path) throws Exception {
    LocalEndpoint refusal = closed.at(method, path);
    if (refusal == null) {
      return "";
    }
    LocalResponse response =
        refusal.handle(new LocalRequest(method, path, "", Map.of(), new byte[0], "id"));
    return response.status() + new String(response.body(), StandardCharsets.UTF_8);
  }

  static List<String> closedPaths() {
    return ClientPaths.unserved();
  }

  /** Written here again: a path that leaves the list of the code must not become open unseen. */
  private static final String NEVER_FOR_CLIENTS =
      """
      /workers /workers/a /add_worker /remove_worker /list_workers /get_loads /flush_cache
      /finish_session /config/reload /scheduling/diagnostics /decisions /decisions/a
      /activity /activity/a /ui /ui/a /shadow /v1/decide /v1/leases/a/settle /internal/route
      /metrics /metricsx /abort_request /abort_requests /adapters /adapters/a
      /add_external_corpus /clear_hicache_storage_backend /collective_rpc /configure_logging
      /continue_generation /destroy_weights_update_group /dump_expert_distribution_record
      /fault_tolerance/apply /fault_tolerance/status /finish_weight_update /freeze_gc
      /get_internal_state /get_remote_instance_transfer_engine_info /get_server_info
      /get_weights_by_name /get_world_size /hicache/storage-backend
      /hicache/storage-backend/clear /inference/v1/abort_requests /init_weight_transfer_engine
      /init_weights_send_group_for_remote_instance /init_weights_update_group /is_paused
      /is_scaling_elastic_ep /is_sleeping /kv_event_sources /list_external_corpora
      /load_lora_adapter /load_lora_adapter_from_tensors /pause /pause_generation
      /post_process_weights /release_kv_cache_memory /release_memory_occupation
      /remove_external_corpus /reset_encoder_cache /reset_mm_cache /reset_prefix_cache
      /resume /resume_memory_occupation /scale_elastic_ep /send_weights_to_remote_instance
      /server_info /set_internal_state /set_trace_level /shutdown_weight_transfer_engine
      /sleep /slow_down /start_draft_weight_update /start_expert_distribution_record
      /start_profile /start_weight_update /stop_expert_distribution_record /stop_profile
      /unload_lora_adapter /update_weight_version /update_weights /update_weights_from_disk
      /update_weights_from_distributed /update_weights_from_ipc /update_weights_from_tensor
      /v1/load_lora_adapter /v1/unload_lora_adapter /wake_up /weight_checker /weight_info
      /weights_checker /release_memory /resume_memory /kv_cache_events /perf_metrics /wakeup
      /terminate /lora-adapters /models/load /models/unload /open_session /close_session
      /dumper/a /distserve/a /slots /slots/0 /props /api/pull /api/push /api/create /api/copy
      /api/delete /api/blobs/a /prometheus/metrics /v2/repository/models/m/unload
      /v2/systemsharedmemory/a /v2/cudasharedmemory/a /v2/logging /v2/trace/setting
      """;

  static List<String> neverForClients() {
    return List.of(NEVER_FOR_CLIENTS.strip().split("\\s+", -1));
  }

  @ParameterizedTest
  @MethodSource("neverForClients")
  void noPathLeavesTheListUnseen(String path) throws Exception {
    assertThat(answer(STANDARD, "POST", path)).startsWith("404").contains("admin_path");
  }

  @ParameterizedTest
  @MethodSource("closedPaths")
  void controlPathsAndTheRoutersOwnAreClosedForEveryMethod(String path) throws Exception {
    String begun = path.replace("*", "");
    String asked = path.endsWith("/") ? path + "x" : begun;
    for (String method : List.of("GET", "POST", "PUT", "DELETE", "HEAD")) {
      assertThat(answer(STANDARD, method, asked)).startsWith("404").contains("admin_path", begun);
    }
    assertThat(answer(STANDARD, "POST", asked.toUpperCase(Locale.ROOT))).startsWith("404");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/v1/chat/completions",
        "/v1/messages",
        "/v1/responses/resp_1",
        "/v1/models",
        "/health",
        "/generate",
        "/version",
        "/sleeper",
        "/v1/sleep",
        "/v1/fine_tuning/jobs/a/pause",
        "/worker"
      })
  void pathsOfClientsAreOpen(String path) {
    assertThatCode(() -> assertThat(answer(STANDARD, "POST", path)).isEmpty())
        .doesNotThrowAnyException();
  }

  /** vLLM and SGLang serve their metrics at all paths that begin so. */
  @ParameterizedTest
  @ValueSource(strings = {"/metrics", "/metricsx", "/metrics/", "/METRICS/a/b", "/metrics/../x"})
  void allPathsOfAnEnginesMetricsAreClosed(String path) throws Exception {
    assertThat(answer(STANDARD, "GET", path)).startsWith("404").contains("/metrics is not served");
  }

  @Test
  void everyPathOfTheAdminListenerIsClosed() throws Exception {
    assertThat(answer(STANDARD, "GET", "/own")).startsWith("404").contains("admin.host");
    assertThat(answer(STANDARD, "GET", "/health")).isEmpty();
  }

  @Test
  void refusedPathsPrecede() throws Exception {
    ClosedPaths closed =
        ClientPaths.closed(
            List.of("/sleep", "/Mine"), List.of(), List.of(), List.of(), RefusalListener.IGNORED);

    assertThat(answer(closed, "POST", "/sleep")).startsWith("501").contains("path_refused");
    assertThat(answer(closed, "PUT", "/mine")).startsWith("501");
    assertThat(answer(closed, "POST", "/wake_up")).startsWith("404");
  }

  @ParameterizedTest
  @CsvSource({
    "POST, /v1/chat/completions, true",
    "GET, /v1/chat/completions, false",
    "GET, /v1/responses/a, true",
    "POST, /v1/other, false",
    "GET, /docs, false",
    "GET, /mine, true",
    "GET, /mine/x, false",
    "GET, /below/x, true",
    "GET, /below, false",
    "POST, /sleep, false"
  })
  void withAnAllowListOnlyItsPathsAreOpen(String method, String path, boolean open)
      throws Exception {
    ClosedPaths closed =
        ClientPaths.closed(
            List.of(),
            List.of(),
            List.of("api", "/mine", "/below/*", "/sleep"),
            List.of(),
            RefusalListener.IGNORED);

    assertThat(answer(closed, method, path).isEmpty()).isEqualTo(open);
  }

  @Test
  void aRefusalIsReported() throws Exception {
    List<String> seen = new ArrayList<>();
    ClosedPaths closed =
        ClientPaths.closed(
            List.of("/mine"),
            List.of(),
            List.of("api"),
            List.of(),
            (request, error, message) ->
                seen.add(request.method() + " " + request.path() + " " + error.code()));
    for (String path : List.of("/mine", "/workers", "/pause", "/other", "/v1/models")) {
      answer(closed, "GET", path);
    }
    assertThat(seen)
        .containsExactly(
            "GET /mine path_refused",
            "GET /workers admin_path",
            "GET /pause admin_path",
            "GET /other path_not_allowed");
  }
}

package io.pointsman.tool.sim.api;

import io.pointsman.tool.sim.http.SimExchange;
import io.pointsman.tool.sim.live.AbortPhase;
import io.pointsman.tool.sim.live.EngineCore;
import io.pointsman.tool.sim.live.EngineCounters;
import io.pointsman.tool.sim.live.Histogram;
import io.pointsman.tool.sim.schedule.EngineRejection;
import io.pointsman.tool.sim.schedule.EngineTotals;
import io.pointsman.tool.sim.schedule.Scheduler;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/** {@code GET /metrics}: vLLM's families in Prometheus text form. */
final class MetricsApi {
  private final EngineCore engine;
  private final String labels;

  MetricsApi(EngineCore engine) {
    this.engine = engine;
    String model = engine.profile().model().replace("\\", "\\\\").replace("\"", "\\\"");
    this.labels = "engine=\"0\",model_name=\"" + model + "\"";
  }

  void handle(SimExchange exchange) {
    Scheduler scheduler = engine.scheduler();
    EngineTotals totals = scheduler.totals();
    EngineCounters counters = engine.counters();
    StringBuilder out = new StringBuilder(8192);
    double use = scheduler.cache().pinnedBlocks() / (double) scheduler.cache().capacity();
    gauge(out, "num_requests_running", scheduler.running());
    gauge(out, "num_requests_waiting", scheduler.waiting());
    gauge(out, "kv_cache_usage_perc", use);
    counter(out, "prefix_cache_queries", totals.promptTokens());
    counter(out, "prefix_cache_hits", totals.cachedTokens());
    counter(out, "prompt_tokens", totals.promptTokens());
    counter(out, "generation_tokens", totals.generatedTokens());
    counter(out, "num_preemptions", 0);
    finished(out, counters);
    type(out, "admission_rejections_total", "counter");
    for (EngineRejection reason : EngineRejection.values()) {
      String label = ",reason=\"" + reason.label() + "\"";
      sample(out, "admission_rejections_total", label, counters.rejectedCount(reason));
    }
    cacheConfig(out);
    histogram(out, "time_to_first_token_seconds", counters.timeToFirstToken());
    histogram(out, "inter_token_latency_seconds", counters.interToken());
    histogram(out, "e2e_request_latency_seconds", counters.endToEnd());
    byte[] bytes = out.toString().getBytes(StandardCharsets.UTF_8);
    exchange.respond(200, "text/plain; version=0.0.4; charset=utf-8", bytes, Map.of());
  }

  private void finished(StringBuilder out, EngineCounters counters) {
    long aborted = 0;
    for (AbortPhase phase : AbortPhase.values()) {
      aborted += counters.abortedCount(phase);
    }
    String name = "request_success_total";
    type(out, name, "counter");
    sample(out, name, ",finished_reason=\"stop\"", counters.finishedStop());
    sample(out, name, ",finished_reason=\"length\"", counters.finishedLength());
    sample(out, name, ",finished_reason=\"abort\"", aborted);
  }

  private void cacheConfig(StringBuilder out) {
    type(out, "cache_config_info", "gauge");
    var limits = engine.scheduler().limits();
    String label =
        ",block_size=\""
            + limits.blockSize()
            + "\",num_gpu_blocks=\""
            + limits.kvBlocks()
            + "\",enable_prefix_caching=\""
            + (limits.rules().prefixCache() ? "True" : "False")
            + "\"";
    sample(out, "cache_config_info", label, 1);
  }

  private void gauge(StringBuilder out, String name, double value) {
    type(out, name, "gauge");
    sample(out, name, "", value);
  }

  private void counter(StringBuilder out, String name, long value) {
    type(out, name + "_total", "counter");
    sample(out, name + "_total", "", value);
  }

  private void histogram(StringBuilder out, String name, Histogram histogram) {
    type(out, name, "histogram");
    double[] bounds = histogram.bounds();
    for (int i = 0; i < bounds.length; i++) {
      sample(out, name + "_bucket", ",le=\"" + bounds[i] + "\"", histogram.cumulative(i));
    }
    sample(out, name + "_bucket", ",le=\"+Inf\"", histogram.count());
    sample(out, name + "_sum", "", histogram.sum());
    sample(out, name + "_count", "", histogram.count());
  }

  private static void type(StringBuilder out, String name, String type) {
    out.append("# TYPE vllm:").append(name).append(' ').append(type).append('\n');
  }

  private void sample(StringBuilder out, String name, String more, Number value) {
    out.append("vllm:").append(name).append('{').append(labels).append(more).append("} ");
    out.append(value).append('\n');
  }
}

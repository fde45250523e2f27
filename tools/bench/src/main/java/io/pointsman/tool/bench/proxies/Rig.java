package io.pointsman.tool.bench.proxies;

import com.fasterxml.jackson.databind.JsonNode;
import io.pointsman.tool.bench.contender.Contender;
import io.pointsman.tool.bench.contender.ContenderProcess;
import io.pointsman.tool.bench.contender.ProcessTree;
import java.io.IOException;
import java.time.Duration;
import java.util.EnumMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Measures one contender under one workload: fresh backend, fresh contender, warm-up, measurement.
 * A pinned contender runs on core 0; backend and generator run on the others.
 */
final class Rig {
  private static final Duration START_LIMIT = Duration.ofMinutes(3);
  private static final Duration SETTLING = Duration.ofMillis(500);
  private static final String FIRST_CHAT =
      "{\"model\":\"bench-model\",\"max_tokens\":16,"
          + "\"messages\":[{\"role\":\"user\",\"content\":\"Are you there?\"}]}";

  private final NativeTools tools;
  private final Warmup warmup;
  private final Duration measured;
  private final int cores;

  /**
   * Warm-up times before a measurement.
   *
   * @param jvm for contenders with a JVM, which compiles during this time
   * @param other for all other contenders
   */
  record Warmup(Duration jvm, Duration other) {
    Duration of(boolean hasJvm) {
      return hasJvm ? jvm : other;
    }
  }

  Rig(NativeTools tools, Warmup warmup, Duration measured, int cores) {
    this.tools = tools;
    this.warmup = warmup;
    this.measured = measured;
    this.cores = cores;
  }

  /**
   * True if the workload applies to the contender. "direct" has no process, so memory and start
   * time do not apply.
   */
  static boolean applies(Contender contender, Workload workload) {
    return !contender.isDirect()
        || (workload.kind() != Workload.Kind.MEMORY && workload.kind() != Workload.Kind.START_UP);
  }

  /** Measures a contender. A failure of the contender is returned as a result, not thrown. */
  Measurement measure(Contender contender, Workload workload, int repetition)
      throws InterruptedException {
    Map<MeasuredMetric, Double> values = new EnumMap<>(MeasuredMetric.class);
    String problem;
    try {
      problem = measure(contender, workload, values);
    } catch (IOException e) {
      problem = String.valueOf(e.getMessage());
    }
    return new Measurement(workload.name(), contender.name(), repetition, values, problem);
  }

  private String measure(Contender contender, Workload workload, Map<MeasuredMetric, Double> values)
      throws IOException, InterruptedException {
    boolean apart = workload.pinned() && cores > 1;
    String forRig = !apart ? "" : cores == 2 ? "1" : "1-" + (cores - 1);
    try (NativeBackend backend = NativeBackend.start(tools, workload.workers(), forRig)) {
      backend.set(workload.chunks(), workload.gapMicros(), contender.render());
      if (contender.isDirect()) {
        return load(workload, backend, backend.firstPort(), null, forRig, "", values);
      }
      try (ContenderProcess router =
          ContenderProcess.start(
              contender,
              backend.urls(),
              apart ? "0" : "",
              apart ? 1 : cores,
              Math.max(4_096, workload.connections()))) {
        double start = router.awaitRouted(FIRST_CHAT, START_LIMIT);
        Thread.sleep(SETTLING);
        return switch (workload.kind()) {
          case START_UP -> {
            values.put(MeasuredMetric.START, start);
            values.put(MeasuredMetric.RESIDENT, router.tree().residentMb());
            yield "";
          }
          case MEMORY, UNARY, SHARED_PREFIX, OPEN_LOOP, STREAMS -> {
            if (workload.connections() == 0) {
              Thread.sleep(measured);
              values.put(MeasuredMetric.RESIDENT, router.tree().residentMb());
              yield "";
            }
            yield load(
                workload, backend, router.port(), router.tree(), forRig, contender.key(), values);
          }
        };
      }
    }
  }

  private String load(
      Workload workload,
      NativeBackend backend,
      int port,
      @Nullable ProcessTree contender,
      String cores,
      String key,
      Map<MeasuredMetric, Double> values)
      throws IOException, InterruptedException {
    RunWindow window = new RunWindow(contender, backend, workload);
    Duration before = warmup.of(contender != null && contender.hasJvm());
    LoadResult result = new Load(tools, measured, key).run(workload, port, cores, before, window);
    fill(workload, result, window, contender != null, values);
    return result.problem();
  }

  private static void fill(
      Workload workload,
      LoadResult result,
      RunWindow window,
      boolean hasProcess,
      Map<MeasuredMetric, Double> values) {
    double seconds = result.seconds();
    values.put(MeasuredMetric.RIG_BUSY, 100 * (window.backendUsed + result.cpuSeconds()) / seconds);
    if (hasProcess) {
      values.put(MeasuredMetric.BUSY, 100 * window.contender / seconds);
      values.put(MeasuredMetric.RESIDENT, window.resident);
    }
    if (workload.isStreaming()) {
      values.put(MeasuredMetric.CHUNKS, result.events() / seconds);
      values.put(MeasuredMetric.DELAY_P50, result.millis("delay_us", "p50"));
      values.put(MeasuredMetric.DELAY_P99, result.millis("delay_us", "p99"));
      values.put(MeasuredMetric.STALL_P99, result.millis("stall_us", "p99"));
      values.put(MeasuredMetric.STALL_MAX, result.millis("stall_us", "max"));
      if (workload.isPaced()) {
        values.put(MeasuredMetric.CAME, 100 * result.events() / workload.eventsDue(seconds));
        values.putAll(window.sent);
      }
      if (hasProcess && result.events() > 0) {
        values.put(MeasuredMetric.CPU_PER_CHUNK, 1e6 * window.contender / result.events());
      }
      return;
    }
    values.put(MeasuredMetric.RATE, result.requests() / seconds);
    values.put(MeasuredMetric.P50, result.millis("latency_us", "p50"));
    values.put(MeasuredMetric.P99, result.millis("latency_us", "p99"));
    values.put(MeasuredMetric.P999, result.millis("latency_us", "p999"));
    if (hasProcess && result.requests() > 0 && window.contender > 0) {
      values.put(MeasuredMetric.CAPACITY, result.requests() / window.contender);
      values.put(MeasuredMetric.CPU_PER_1000, 1_000 * window.contender / result.requests());
      values.put(MeasuredMetric.CPU_PER_MB, 1_000 * window.contender / result.bodyMb());
    }
  }

  /**
   * Measures CPU time and events of the backend over the whole window, and memory in its middle.
   */
  private static final class RunWindow implements Load.Window {
    private final @Nullable ProcessTree process;
    private final NativeBackend backend;
    private final Workload workload;
    private final Map<MeasuredMetric, Double> sent = new EnumMap<>(MeasuredMetric.class);

    private double contender;
    private double backendUsed;
    private double resident;
    private long sentBefore;
    private double from;

    RunWindow(@Nullable ProcessTree process, NativeBackend backend, Workload workload) {
      this.process = process;
      this.backend = backend;
      this.workload = workload;
    }

    @Override
    public void begin() throws IOException {
      add(-1);
      if (workload.isPaced()) {
        JsonNode counts = backend.counts();
        sentBefore = counts.path("chunks").asLong();
        from = counts.path("now_us").asDouble();
      }
    }

    @Override
    public void middle() {
      resident = process == null ? 0 : process.residentMb();
    }

    @Override
    public void end() throws IOException {
      add(1);
      if (workload.isPaced()) {
        JsonNode counts = backend.counts();
        double seconds = (counts.path("now_us").asDouble() - from) / 1e6;
        long chunks = counts.path("chunks").asLong() - sentBefore;
        sent.put(MeasuredMetric.SENT, 100 * chunks / workload.eventsDue(seconds));
        sent.put(MeasuredMetric.SENT_LATE_P99, counts.path("late_p99_us").asDouble() / 1000);
        sent.put(MeasuredMetric.SENT_LATE_MAX, counts.path("latest_us").asDouble() / 1000);
      }
    }

    private void add(int sign) {
      contender += process == null ? 0 : sign * process.cpuSeconds();
      backendUsed += sign * backend.tree().cpuSeconds();
    }
  }
}

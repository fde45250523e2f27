package io.pointsman.observe.metrics;

/** Metrics of the process: version, exports, resources. */
enum ProcessMetric implements Metric {
  BUILD_INFO(
      Kind.INFO,
      "pointsman_build_info",
      "1",
      "Always 1. The labels are the versions of the router and of Java.",
      "version",
      "java"),
  TRACE_SPANS(
      Kind.COUNTER,
      "pointsman_trace_spans_total",
      "spans",
      "Spans of traced requests, by result. failed: the collector did not accept them; dropped: the"
          + " queue was full.",
      "result"),
  CAPTURED_REQUESTS(
      Kind.COUNTER,
      "pointsman_captured_requests_total",
      "requests",
      "Answered requests for the file of --trace-out, by result. dropped: the queue was full;"
          + " failed: the file could not be written.",
      "result"),
  LOG_LINES_LOST(
      Kind.COUNTER,
      "pointsman_log_lines_lost_total",
      "lines",
      "Lines of the log that are missing in an output, because the output was too slow or could not"
          + " be written."),
  PROCESS_CPU(
      Kind.COUNTER,
      "process_cpu_seconds_total",
      "seconds",
      "User and system CPU time of the process."),
  PROCESS_START(
      Kind.GAUGE,
      "process_start_time_seconds",
      "seconds",
      "Start time of the process, in seconds since 1970-01-01 UTC."),
  PROCESS_RESIDENT(
      Kind.GAUGE, "process_resident_memory_bytes", "bytes", "Resident memory of the process."),
  PROCESS_OPEN_FDS(Kind.GAUGE, "process_open_fds", "descriptors", "Open file descriptors."),
  PROCESS_MAX_FDS(
      Kind.GAUGE, "process_max_fds", "descriptors", "Maximum number of open file descriptors."),
  JVM_MEMORY_USED(Kind.GAUGE, "jvm_memory_used_bytes", "bytes", "Memory in use, by area.", "area"),
  JVM_MEMORY_MAX(
      Kind.GAUGE,
      "jvm_memory_max_bytes",
      "bytes",
      "Maximum memory, by area. -1: no limit.",
      "area"),
  JVM_BUFFERS(
      Kind.GAUGE, "jvm_buffer_pool_used_bytes", "bytes", "Memory in NIO buffers, by pool.", "pool"),
  JVM_THREADS(Kind.GAUGE, "jvm_threads_current", "threads", "Live platform threads."),
  JVM_GC_SECONDS(
      Kind.COUNTER,
      "jvm_gc_collection_seconds_total",
      "seconds",
      "Time spent in garbage collections, by collector.",
      "gc"),
  JVM_GC_COLLECTIONS(
      Kind.COUNTER,
      "jvm_gc_collections_total",
      "collections",
      "Garbage collections, by collector.",
      "gc");

  @SuppressWarnings("ImmutableEnumChecker") // its list is a List.copyOf
  private final About about;

  ProcessMetric(Kind kind, String metricName, String unit, String meaning, String... labels) {
    about = new About(kind, metricName, unit, meaning, labels);
  }

  @Override
  public About about() {
    return about;
  }
}

package io.pointsman.tool.bench.proxies;

import java.util.EnumMap;
import java.util.EnumSet;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Metrics of a measurement. The load generator measures times; CPU time and memory come from /proc.
 */
enum MeasuredMetric {
  RATE("req/s", "requests answered per second", 0),
  CAPACITY("req/CPU s", "requests per second of the contender's CPU time", 0),
  CPU_PER_1000("CPU s/1,000", "contender's CPU seconds per 1,000 requests", 4),
  CPU_PER_MB("CPU ms/MB", "contender's CPU milliseconds per MB of bodies, both ways", 3),
  P50("p50 ms", "median latency", 3),
  P99("p99 ms", "99th percentile of latency", 3),
  P999("p99.9 ms", "99.9th percentile of latency", 3),
  ADDED_P50("added p50 ms", "median latency less that of direct", 3),
  ADDED_P99("added p99 ms", "99th percentile less that of direct", 3),
  ADDED_P999("added p99.9 ms", "99.9th percentile less that of direct", 3),
  CHUNKS("chunks/s", "events of streams that reached clients per second", 0),
  CAME("came %", "events that reached clients, in per cent of the due ones", 1),
  CPU_PER_CHUNK("CPU us/chunk", "contender's CPU microseconds per event", 2),
  DELAY_P50("delay p50 ms", "median time from when an event was due to its receipt", 3),
  DELAY_P99("delay p99 ms", "99th percentile of that time", 3),
  STALL_P99("stall p99 ms", "of each stream its slowest event; 99th percentile over streams", 1),
  STALL_MAX("stall max ms", "the slowest event of all streams", 1),
  SENT("sent %", "events that the backend sent, in per cent of the due ones", 1),
  SENT_LATE_P99("sent late p99 ms", "by how much it sent them late; 99th percentile", 1),
  SENT_LATE_MAX("sent late max ms", "by how much it sent the latest of them late", 1),
  START("start ms", "from the start of the process to the first answer through it", 0),
  RESIDENT("MB", "resident memory in the middle of the measurement, shared pages once", 1),
  BUSY("CPU %", "contender's CPU time, in per cent of one core", 0),
  RIG_BUSY("rig %", "the same of backend and load generator together", 0);

  /**
   * Metrics that are compared with other contenders. Other load on the machine affects them least.
   */
  private static final Set<MeasuredMetric> COMPARED =
      EnumSet.of(RATE, CAPACITY, CPU_PER_CHUNK, DELAY_P99);

  /** Metrics that are the difference to the contender "direct", with the underlying metric. */
  private static final Map<MeasuredMetric, MeasuredMetric> ADDED =
      new EnumMap<>(Map.of(ADDED_P50, P50, ADDED_P99, P99, ADDED_P999, P999));

  private final String title;
  private final String meaning;
  private final int decimals;

  MeasuredMetric(String title, String meaning, int decimals) {
    this.title = title;
    this.meaning = meaning;
    this.decimals = decimals;
  }

  String title() {
    return title;
  }

  String meaning() {
    return meaning;
  }

  boolean isCompared() {
    return COMPARED.contains(this);
  }

  /** Underlying metric, if this one is the difference to "direct"; otherwise null. */
  @Nullable MeasuredMetric addedTo() {
    return ADDED.get(this);
  }

  String format(double value) {
    return String.format(Locale.ROOT, "%,." + decimals + "f", value);
  }
}

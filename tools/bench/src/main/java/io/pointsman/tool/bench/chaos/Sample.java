package io.pointsman.tool.bench.chaos;

import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;

/**
 * Resource use of the router at one moment, and its latency since the previous sample.
 *
 * @param seconds time since the start in seconds
 * @param residentMb resident memory in MB
 * @param heapMb heap after a full collection, in MB; measured every 6 samples and repeated in
 *     between
 * @param directMb memory of buffers outside of the heap, in MB; measured together with the heap
 * @param descriptors open files and sockets
 * @param threads platform threads
 * @param inFlight requests in flight in the router
 * @param p50 50th percentile of non-streamed responses, in milliseconds
 * @param p99 99th percentile of non-streamed responses, in milliseconds
 * @param load load average of the machine over 1 minute
 */
record Sample(
    double seconds,
    double residentMb,
    double heapMb,
    double directMb,
    double descriptors,
    double threads,
    double inFlight,
    double p50,
    double p99,
    double load) {

  /** One column of the table. */
  record Column(String name, String unit, ToDoubleFunction<Sample> value) {}

  static final Column RESIDENT = new Column("resident memory", "MB", Sample::residentMb);
  static final Column HEAP = new Column("heap after collection", "MB", Sample::heapMb);
  static final Column DIRECT = new Column("memory outside of the heap", "MB", Sample::directMb);
  static final Column DESCRIPTORS = new Column("descriptors", "open", Sample::descriptors);
  static final Column THREADS = new Column("threads", "live", Sample::threads);
  static final Column IN_FLIGHT = new Column("requests in flight", "now", Sample::inFlight);
  static final Column P50 = new Column("latency p50", "ms", Sample::p50);
  static final Column P99 = new Column("latency p99", "ms", Sample::p99);
  static final Column LOAD = new Column("load average of the machine", "1 min", Sample::load);

  static final List<Column> COLUMNS =
      List.of(RESIDENT, HEAP, DIRECT, DESCRIPTORS, THREADS, IN_FLIGHT, P50, P99, LOAD);

  static String csv(List<Sample> samples) {
    StringBuilder out = new StringBuilder("seconds");
    COLUMNS.forEach(
        column ->
            out.append(',').append(column.name()).append(" (").append(column.unit()).append(')'));
    out.append('\n');
    for (Sample sample : samples) {
      out.append(String.format(Locale.ROOT, "%.0f", sample.seconds()));
      COLUMNS.forEach(
          column ->
              out.append(
                  String.format(Locale.ROOT, ",%.2f", column.value().applyAsDouble(sample))));
      out.append('\n');
    }
    return out.toString();
  }
}

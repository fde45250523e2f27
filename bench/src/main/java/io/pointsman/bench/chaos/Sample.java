package io.pointsman.bench.chaos;

import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;

/**
 * What the router used at one moment, and how fast it was since the moment before.
 *
 * @param seconds since the start
 * @param residentMb resident memory, in MB
 * @param heapMb heap after a full collection, in MB; taken once a minute and repeated in between
 * @param directMb memory outside of the heap that buffers take, in MB; taken with the heap
 * @param descriptors open files and sockets
 * @param threads platform threads
 * @param inFlight requests in the router
 * @param p50 of answers that are no streams, in ms
 * @param p99 of answers that are no streams, in ms
 * @param load the machine's load average of a minute
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

  /** One column: its name, its unit, and how to get it. */
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

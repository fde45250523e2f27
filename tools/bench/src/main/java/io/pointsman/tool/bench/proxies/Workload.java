package io.pointsman.tool.bench.proxies;

import static io.pointsman.tool.bench.proxies.MeasuredMetric.*;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * A load and its placement on the cores.
 *
 * @param name name in options and tables
 * @param title description in reports
 * @param kind kind of the load
 * @param connections connections of the generator; for streams, the number of concurrent streams
 * @param size size of each request body in bytes
 * @param chunks events of each stream
 * @param gapMicros time between two events of a stream in microseconds; 0: all at once
 * @param workers number of workers behind the contender
 * @param pinned true if the contender has one core of its own; otherwise all share all cores
 */
record Workload(
    String name,
    String title,
    Kind kind,
    int connections,
    int size,
    int chunks,
    long gapMicros,
    int workers,
    boolean pinned) {

  /** Requests per second of an open loop. */
  static final int OPEN_LOOP_RATE = 1_000;

  private static final int KB = 1 << 10;
  private static final int FEW_WORKERS = 4;

  enum Kind {
    /** Closed loop at saturation, one complete response per request. */
    UNARY(CAPACITY, RATE, CAPACITY, CPU_PER_1000, CPU_PER_MB, P50, P99, RESIDENT, BUSY, RIG_BUSY),
    /** Like UNARY, with prompts that share long prefixes. */
    SHARED_PREFIX(
        CAPACITY, RATE, CAPACITY, CPU_PER_1000, CPU_PER_MB, P50, P99, RESIDENT, BUSY, RIG_BUSY),
    OPEN_LOOP(
        ADDED_P99,
        RATE,
        P50,
        P99,
        P999,
        ADDED_P50,
        ADDED_P99,
        ADDED_P999,
        CPU_PER_1000,
        CPU_PER_MB,
        BUSY,
        RIG_BUSY),
    STREAMS(
        CPU_PER_CHUNK,
        CHUNKS,
        CAME,
        CPU_PER_CHUNK,
        DELAY_P50,
        DELAY_P99,
        STALL_P99,
        STALL_MAX,
        SENT,
        SENT_LATE_P99,
        RESIDENT,
        BUSY,
        RIG_BUSY),
    MEMORY(RESIDENT, RESIDENT),
    START_UP(START, START, RESIDENT);

    private final MeasuredMetric leading;

    @SuppressWarnings("ImmutableEnumChecker") // List.of makes an immutable list.
    private final List<MeasuredMetric> shown;

    Kind(MeasuredMetric leading, MeasuredMetric... shown) {
      this.leading = leading;
      this.shown = List.of(shown);
    }

    /** The metric for plots. */
    MeasuredMetric leading() {
      return leading;
    }

    List<MeasuredMetric> shown() {
      return shown;
    }
  }

  /** All workloads, in their order of execution. */
  static List<Workload> all() {
    List<Workload> all = new ArrayList<>();
    all.add(unary("unary-200", 200, 64));
    all.add(unary("unary-2k", 2 * KB, 64));
    all.add(unary("unary-32k", 32 * KB, 64));
    all.add(unary("unary-220k", 220 * KB, 32));
    all.add(
        new Workload(
            "rate-1000",
            "POST of 2 KB, open loop, 1,000/s, one core",
            Kind.OPEN_LOOP,
            64,
            2 * KB,
            0,
            0,
            FEW_WORKERS,
            true));
    all.add(streams("sse-1000", "streams x 20 chunks/s, one core", 1_000, 100, 50_000, true));
    all.add(
        streams(
            "sse-10000",
            "streams x 10 chunks/s, all cores for all, nothing pinned",
            10_000,
            1_000,
            100_000,
            false));
    all.add(streams("burst", "streams of 200 chunks at once, one core", 64, 200, 0, true));
    all.add(
        new Workload(
            "prefix-100k",
            "POST of 100 KB, 64 prompts that repeat but for their end, 32 connections, one core",
            Kind.SHARED_PREFIX,
            32,
            100 * KB,
            0,
            0,
            FEW_WORKERS,
            true));
    all.add(memory(0));
    all.add(memory(1_000));
    all.add(memory(10_000));
    all.add(
        new Workload(
            "start",
            "start to first routed request, all cores",
            Kind.START_UP,
            0,
            0,
            0,
            0,
            FEW_WORKERS,
            false));
    for (int workers : new int[] {4, 100, 1_000, 4_000}) {
      all.add(
          new Workload(
              "workers-" + workers,
              String.format(
                  Locale.ROOT, "POST of 2 KB, 64 connections, %,d workers, one core", workers),
              Kind.UNARY,
              64,
              2 * KB,
              0,
              0,
              workers,
              true));
    }
    return List.copyOf(all);
  }

  private static Workload unary(String name, int size, int connections) {
    String shown = size < KB ? size + " B" : size / KB + " KB";
    String title =
        "POST of %s, distinct bodies, %d connections, one core".formatted(shown, connections);
    return new Workload(name, title, Kind.UNARY, connections, size, 0, 0, FEW_WORKERS, true);
  }

  /** Closed loop with distinct bodies of the given size in bytes. */
  static Workload unary(int size) {
    return unary("unary-" + size, size, size > 100 * KB ? 32 : 64);
  }

  static Workload streams(
      String name, String title, int streams, int chunks, long gapMicros, boolean pinned) {
    return new Workload(
        name,
        String.format(Locale.ROOT, "%,d %s", streams, title),
        Kind.STREAMS,
        streams,
        2 * KB,
        chunks,
        gapMicros,
        FEW_WORKERS,
        pinned);
  }

  private static Workload memory(int streams) {
    return new Workload(
        "memory-" + streams,
        String.format(Locale.ROOT, "memory with %,d streams open, all cores", streams),
        Kind.MEMORY,
        streams,
        2 * KB,
        1_000_000,
        2_000_000,
        FEW_WORKERS,
        false);
  }

  /**
   * The workload with the given name.
   *
   * @throws java.util.NoSuchElementException if there is none
   */
  static Workload named(String name) {
    return all().stream().filter(each -> each.name().equals(name)).findFirst().orElseThrow();
  }

  Workload withConnections(int count) {
    String shown =
        String.format(Locale.ROOT, "%s (%,d of them: descriptors run out beyond)", title, count);
    return new Workload(name, shown, kind, count, size, chunks, gapMicros, workers, pinned);
  }

  boolean isStreaming() {
    return kind == Kind.STREAMS || kind == Kind.MEMORY;
  }

  /** True if events have due times that do not depend on the contender. */
  boolean isPaced() {
    return kind == Kind.STREAMS && gapMicros > 0;
  }

  /** Number of events that are due in the given time, for a paced workload. */
  double eventsDue(double seconds) {
    return connections * seconds * 1e6 / gapMicros;
  }
}

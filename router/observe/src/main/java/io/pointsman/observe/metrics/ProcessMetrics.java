package io.pointsman.observe.metrics;

import com.sun.management.UnixOperatingSystemMXBean;
import io.pointsman.observe.logging.LogSetup;
import java.io.IOException;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryMXBean;
import java.lang.management.OperatingSystemMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.ToDoubleFunction;

/** Resource usage of the process and the JVM, read at each scrape. */
final class ProcessMetrics {
  private static final Path STATUS = Path.of("/proc/self/status");

  private ProcessMetrics() {}

  /**
   * @param version version of the program
   */
  static void register(Meters meters, String version) {
    meters.info(ProcessMetric.BUILD_INFO, version, System.getProperty("java.version", "unknown"));
    meters.pulled(ProcessMetric.LOG_LINES_LOST, sink -> sink.put(LogSetup.lostLines()));
    process(meters);
    memory(meters);
    collections(meters);
    meters.pulled(
        ProcessMetric.JVM_THREADS,
        sink -> sink.put(ManagementFactory.getThreadMXBean().getThreadCount()));
  }

  private static void process(Meters meters) {
    meters.pulled(
        ProcessMetric.PROCESS_START,
        sink -> sink.put(ManagementFactory.getRuntimeMXBean().getStartTime() / 1e3));
    system(meters, ProcessMetric.PROCESS_CPU, os -> os.getProcessCpuTime() / 1e9);
    system(
        meters,
        ProcessMetric.PROCESS_OPEN_FDS,
        UnixOperatingSystemMXBean::getOpenFileDescriptorCount);
    system(
        meters,
        ProcessMetric.PROCESS_MAX_FDS,
        UnixOperatingSystemMXBean::getMaxFileDescriptorCount);
    meters.pulled(ProcessMetric.PROCESS_RESIDENT, sink -> sink.put(residentBytes()));
  }

  private static void system(
      Meters meters, Metric metric, ToDoubleFunction<UnixOperatingSystemMXBean> value) {
    OperatingSystemMXBean os = ManagementFactory.getOperatingSystemMXBean();
    meters.pulled(
        metric,
        sink -> {
          if (os instanceof UnixOperatingSystemMXBean unix) {
            sink.put(value.applyAsDouble(unix));
          }
        });
  }

  private static void memory(Meters meters) {
    MemoryMXBean memory = ManagementFactory.getMemoryMXBean();
    meters.pulled(
        ProcessMetric.JVM_MEMORY_USED,
        sink -> {
          sink.put(memory.getHeapMemoryUsage().getUsed(), "heap");
          sink.put(memory.getNonHeapMemoryUsage().getUsed(), "nonheap");
        });
    meters.pulled(
        ProcessMetric.JVM_MEMORY_MAX,
        sink -> {
          sink.put(memory.getHeapMemoryUsage().getMax(), "heap");
          sink.put(memory.getNonHeapMemoryUsage().getMax(), "nonheap");
        });
    meters.pulled(
        ProcessMetric.JVM_BUFFERS,
        sink -> {
          for (BufferPoolMXBean pool :
              ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class)) {
            sink.put(pool.getMemoryUsed(), pool.getName());
          }
        });
  }

  private static void collections(Meters meters) {
    meters.pulled(
        ProcessMetric.JVM_GC_SECONDS,
        sink -> {
          for (GarbageCollectorMXBean gc : ManagementFactory.getGarbageCollectorMXBeans()) {
            sink.put(Math.max(0, gc.getCollectionTime()) / 1e3, gc.getName());
          }
        });
    meters.pulled(
        ProcessMetric.JVM_GC_COLLECTIONS,
        sink -> {
          for (GarbageCollectorMXBean gc : ManagementFactory.getGarbageCollectorMXBeans()) {
            sink.put(Math.max(0, gc.getCollectionCount()), gc.getName());
          }
        });
  }

  /** Resident memory in bytes, from the kernel; 0 without {@code /proc}. */
  private static double residentBytes() {
    try (var lines = Files.lines(STATUS)) {
      return lines
          .filter(line -> line.startsWith("VmRSS:"))
          .mapToDouble(line -> Double.parseDouble(line.replaceAll("[^0-9]", "")) * 1024)
          .findFirst()
          .orElse(0);
    } catch (IOException e) {
      return 0;
    }
  }
}

package io.pointsman.observe.metrics;

import com.sun.management.OperatingSystemMXBean;
import java.io.File;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;

/** Use of the machine's resources in percent. In a container, the JVM counts the container's. */
final class HostUse {
  private static final Path MEMORY = Path.of("/proc/meminfo");

  private HostUse() {}

  /** Processor time that is not idle, since the last call; 0 if it is unknown. */
  static double cpuPercent() {
    return ManagementFactory.getOperatingSystemMXBean() instanceof OperatingSystemMXBean os
        ? percent(os.getCpuLoad())
        : 0;
  }

  /** Memory that programs cannot get; 0 if it is unknown. */
  static double memoryPercent() {
    try (var lines = Files.lines(MEMORY)) {
      double[] kilobytes = new double[2];
      lines.forEach(
          line -> {
            if (line.startsWith("MemTotal:")) {
              kilobytes[0] = number(line);
            } else if (line.startsWith("MemAvailable:")) {
              kilobytes[1] = number(line);
            }
          });
      return kilobytes[0] == 0 ? 0 : percent(1 - kilobytes[1] / kilobytes[0]);
    } catch (IOException e) {
      return 0;
    }
  }

  /** Used space of the root file system. */
  static double diskPercent() {
    File root = new File("/");
    double used = root.getTotalSpace() - (double) root.getFreeSpace();
    double reachable = used + root.getUsableSpace();
    return reachable == 0 ? 0 : percent(used / reachable);
  }

  private static double number(String line) {
    return Double.parseDouble(line.replaceAll("[^0-9]", ""));
  }

  private static double percent(double share) {
    return share > 0 ? 100 * Math.min(1, share) : 0;
  }
}

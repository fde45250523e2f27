package io.pointsman.tool.bench.live;

import com.sun.management.OperatingSystemMXBean;
import io.pointsman.tool.bench.contender.ProcessTree;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Processor use since the creation of this object: of a contender, of this process, and of the
 * machine.
 */
final class Processors {
  private static final Path MACHINE = Path.of("/proc/stat");
  private static final int IDLE = 3;
  private static final int WAITING = 4;

  /** Number of leading fields; the later ones are included in these. */
  private static final int GUESTS = 8;

  private final ProcessTree router;
  private final OperatingSystemMXBean own =
      ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
  private final long begunAt = System.nanoTime();
  private final double routerBefore;
  private final long ownBefore;
  private final double[] machineBefore;

  Processors(ProcessTree router) throws IOException {
    this.router = router;
    routerBefore = router.cpuSeconds();
    ownBefore = own.getProcessCpuTime();
    machineBefore = machine();
  }

  LiveRow.Use since() throws IOException {
    double seconds = (System.nanoTime() - begunAt) / 1e9;
    double[] now = machine();
    double all = now[0] - machineBefore[0];
    return new LiveRow.Use(
        (router.cpuSeconds() - routerBefore) / seconds,
        (own.getProcessCpuTime() - ownBefore) / 1e9 / seconds,
        all > 0 ? 1 - (now[1] - machineBefore[1]) / all : 0);
  }

  /** Total and idle time of all cores, in clock ticks. */
  private static double[] machine() throws IOException {
    String[] fields = Files.readAllLines(MACHINE).getFirst().split("\\s+", -1);
    double all = 0;
    double idle = 0;
    for (int i = 0; i < Math.min(GUESTS, fields.length - 1); i++) {
      double ticks = Double.parseDouble(fields[i + 1]);
      all += ticks;
      idle += i == IDLE || i == WAITING ? ticks : 0;
    }
    return new double[] {all, idle};
  }
}

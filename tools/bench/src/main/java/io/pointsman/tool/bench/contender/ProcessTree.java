package io.pointsman.tool.bench.contender;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** CPU time and memory of a process and its descendants, from {@code /proc}. */
public final class ProcessTree {
  /** Unit of the times in {@code /proc/PID/stat}; 100 per second on all current Linux systems. */
  private static final double TICKS_PER_SECOND = 100;

  private final ProcessHandle root;

  ProcessTree(ProcessHandle root) {
    this.root = root;
  }

  /** CPU time in seconds, user and system. It includes ended children that were waited for. */
  public double cpuSeconds() {
    long ticks = 0;
    for (long pid : pids()) {
      // The name in parentheses may contain any character; numbers follow it.
      String stat = read(pid, "stat");
      String[] fields = stat.substring(stat.lastIndexOf(')') + 1).strip().split(" ", -1);
      for (int field = 11; field <= 14 && fields.length > 14; field++) {
        ticks += Long.parseLong(fields[field]);
      }
    }
    return ticks / TICKS_PER_SECOND;
  }

  /** Resident memory in MB: the sum of the PSS, which counts shared pages once. */
  public double residentMb() {
    long kilobytes = 0;
    for (long pid : pids()) {
      kilobytes += field(read(pid, "smaps_rollup"), "Pss:");
    }
    return kilobytes / 1024.0;
  }

  /** True if the tree contains a JVM, which still compiles code while it works. */
  public boolean hasJvm() {
    return pids().stream().anyMatch(pid -> "java".equals(read(pid, "comm").strip()));
  }

  private List<Long> pids() {
    return Stream.concat(Stream.of(root), root.descendants()).map(ProcessHandle::pid).toList();
  }

  private static long field(String text, String name) {
    return text.lines()
        .filter(line -> line.startsWith(name))
        .mapToLong(line -> Long.parseLong(line.replaceAll("[^0-9]", "")))
        .findFirst()
        .orElse(0);
  }

  /** Content of a file in {@code /proc}; empty if the process has ended. */
  private static String read(long pid, String file) {
    try {
      return Files.readString(Path.of("/proc", Long.toString(pid), file));
    } catch (IOException e) {
      return "";
    }
  }
}

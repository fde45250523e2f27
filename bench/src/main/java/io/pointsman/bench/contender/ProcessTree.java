package io.pointsman.bench.contender;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** What a process and its descendants use, as Linux accounts it. */
public final class ProcessTree {
  /** The unit of times in {@code /proc/PID/stat}: 100 a second on every Linux that is in use. */
  private static final double TICKS_PER_SECOND = 100;

  private final ProcessHandle root;

  ProcessTree(ProcessHandle root) {
    this.root = root;
  }

  /** CPU seconds, in user and system, of the living and of those that were waited for. */
  public double cpuSeconds() {
    long ticks = 0;
    for (long pid : pids()) {
      // The name in parentheses may hold anything; the fields behind it are numbers.
      String stat = read(pid, "stat");
      String[] fields = stat.substring(stat.lastIndexOf(')') + 1).strip().split(" ", -1);
      for (int field = 11; field <= 14 && fields.length > 14; field++) {
        ticks += Long.parseLong(fields[field]);
      }
    }
    return ticks / TICKS_PER_SECOND;
  }

  /** Resident memory in MB, pages that processes share counted once: the sum of the PSS. */
  public double residentMb() {
    long kilobytes = 0;
    for (long pid : pids()) {
      kilobytes += field(read(pid, "smaps_rollup"), "Pss:");
    }
    return kilobytes / 1024.0;
  }

  /** Whether a JVM is among them: a program that is still being compiled while it works. */
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

  /** Empty for a process that has just ended. */
  private static String read(long pid, String file) {
    try {
      return Files.readString(Path.of("/proc", Long.toString(pid), file));
    } catch (IOException e) {
      return "";
    }
  }
}

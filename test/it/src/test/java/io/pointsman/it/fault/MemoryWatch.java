package io.pointsman.it.fault;

import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufAllocatorMetric;
import io.netty.buffer.ByteBufAllocatorMetricProvider;
import io.pointsman.testkit.Garbage;
import java.lang.management.ManagementFactory;
import java.util.concurrent.atomic.LongAccumulator;
import java.util.concurrent.locks.LockSupport;

/**
 * Growth of this process's memory since the start of the watch. Netty's buffers are sampled
 * thousands of times per second, the heap on request.
 */
final class MemoryWatch implements AutoCloseable {
  private static final ByteBufAllocatorMetric BUFFERS =
      ((ByteBufAllocatorMetricProvider) ByteBufAllocator.DEFAULT).metric();

  private final long buffersBefore = buffers();
  private final long heapBefore = heap();
  private final Thread thread =
      Thread.ofPlatform().daemon().name("memory-watch").unstarted(this::watch);
  private volatile boolean stopped;
  private final LongAccumulator most = new LongAccumulator(Math::max, 0);

  static MemoryWatch begin() {
    MemoryWatch watch = new MemoryWatch();
    watch.thread.start();
    return watch;
  }

  private static long buffers() {
    return BUFFERS.usedDirectMemory() + BUFFERS.usedHeapMemory();
  }

  private static long heap() {
    Garbage.collect();
    return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
  }

  private void watch() {
    while (!stopped) {
      most.accumulate(buffers());
      LockSupport.parkNanos(300_000);
    }
  }

  /** Maximum growth of buffers in bytes. */
  long mostMoreInBuffers() {
    most.accumulate(buffers());
    return most.get() - buffersBefore;
  }

  /** Growth of the heap in bytes, without garbage. */
  long moreOnHeap() {
    return heap() - heapBefore;
  }

  @Override
  public void close() {
    stopped = true;
  }
}

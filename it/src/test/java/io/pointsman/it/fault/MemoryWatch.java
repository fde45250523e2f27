package io.pointsman.it.fault;

import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufAllocatorMetric;
import io.netty.buffer.ByteBufAllocatorMetricProvider;
import io.pointsman.testkit.Garbage;
import java.lang.management.ManagementFactory;
import java.util.concurrent.atomic.LongAccumulator;
import java.util.concurrent.locks.LockSupport;

/**
 * How much more memory this process takes than when the watch began: Netty's buffers, looked at
 * thousands of times a second, and the heap, when it is asked for.
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

  /** Bytes that buffers took at the most, beyond those that they took before. */
  long mostMoreInBuffers() {
    most.accumulate(buffers());
    return most.get() - buffersBefore;
  }

  /** Bytes of the heap in use beyond those of before, garbage aside. */
  long moreOnHeap() {
    return heap() - heapBefore;
  }

  @Override
  public void close() {
    stopped = true;
  }
}

package io.pointsman.it.fault;

import io.netty.buffer.ByteBufAllocator;
import io.netty.util.ResourceLeakDetector;
import io.pointsman.testkit.Garbage;

/**
 * Netty's buffers that were let go without having been released: they are told to the log, which
 * {@link io.pointsman.it.support.Cluster} listens to.
 */
final class LostBuffers {
  private LostBuffers() {}

  /** Has every buffer watched from now on. */
  static void watch() {
    ResourceLeakDetector.setLevel(ResourceLeakDetector.Level.PARANOID);
  }

  /** Has every one that was lost until now told to the log. */
  static void tell() {
    Garbage.collect();
    ByteBufAllocator.DEFAULT.buffer(1).release(); // Netty looks when it makes a new one
  }
}

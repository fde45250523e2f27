package io.pointsman.it.fault;

import io.netty.buffer.ByteBufAllocator;
import io.netty.util.ResourceLeakDetector;
import io.pointsman.testkit.Garbage;

/**
 * Detects Netty buffers that were collected without release. Netty reports them to the log, which
 * {@link io.pointsman.it.support.Cluster} checks.
 */
final class LostBuffers {
  private LostBuffers() {}

  /** Enables leak detection for every buffer. */
  static void watch() {
    ResourceLeakDetector.setLevel(ResourceLeakDetector.Level.PARANOID);
  }

  /** Makes Netty log all buffers that are lost at this time. */
  static void log() {
    Garbage.collect();
    ByteBufAllocator.DEFAULT.buffer(1).release(); // Netty checks when it allocates a buffer
  }
}

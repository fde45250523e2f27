package io.pointsman.proxy;

import io.netty.buffer.ByteBufAllocator;
import io.netty.util.ResourceLeakDetector;
import io.pointsman.testkit.Garbage;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/**
 * Detector of buffers that are collected without a release. It reads Netty's log messages, which go
 * to the JDK's log here.
 */
final class BufferLeaks {
  private static final Queue<String> FOUND = new ConcurrentLinkedQueue<>();

  /** A strong reference, because the log manager drops unreferenced loggers. */
  private static final Logger LOG = Logger.getLogger(ResourceLeakDetector.class.getName());

  static {
    LOG.addHandler(new Listener());
  }

  private BufferLeaks() {}

  /** Starts the detection. */
  static void watch() {
    ResourceLeakDetector.setLevel(ResourceLeakDetector.Level.PARANOID);
  }

  /** The leaks since the last call. */
  static List<String> found() {
    Garbage.collect();
    ByteBufAllocator.DEFAULT.buffer(1).release(); // Netty checks for leaks at an allocation
    List<String> found = List.copyOf(FOUND);
    FOUND.clear();
    return found;
  }

  private static final class Listener extends Handler {
    @Override
    public void publish(LogRecord told) {
      if (told.getMessage().startsWith("LEAK")) {
        FOUND.add(told.getMessage());
      }
    }

    @Override
    public void flush() {}

    @Override
    public void close() {}
  }
}

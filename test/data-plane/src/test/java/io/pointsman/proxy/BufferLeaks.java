package io.pointsman.proxy;

import io.netty.buffer.ByteBufAllocator;
import io.netty.util.ResourceLeakDetector;
import io.pointsman.testkit.Garbage;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
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

  private static final AtomicBoolean DUE = new AtomicBoolean();

  private BufferLeaks() {}

  /** Starts the detection. */
  static void watch() {
    ResourceLeakDetector.setLevel(ResourceLeakDetector.Level.PARANOID);
  }

  /** Requests a check after the last test of the class. */
  static void checkLater() {
    DUE.set(true);
  }

  /** True if a check was requested since the last call. */
  static boolean due() {
    return DUE.getAndSet(false);
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
    public void publish(LogRecord entry) {
      if (entry.getMessage().startsWith("LEAK")) {
        FOUND.add(entry.getMessage());
      }
    }

    @Override
    public void flush() {}

    @Override
    public void close() {}
  }
}

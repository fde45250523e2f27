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
 * Watches every buffer for being let go without having been released, by what Netty logs of them:
 * here that is the JDK's log, whatever was loaded before.
 */
final class BufferLeaks {
  private static final Queue<String> FOUND = new ConcurrentLinkedQueue<>();

  /** Referred to, because the log itself forgets loggers that nobody refers to. */
  private static final Logger LOG = Logger.getLogger(ResourceLeakDetector.class.getName());

  static {
    LOG.addHandler(new Listener());
  }

  private BufferLeaks() {}

  /** From now on. */
  static void watch() {
    ResourceLeakDetector.setLevel(ResourceLeakDetector.Level.PARANOID);
  }

  /** What has been lost since the last call. */
  static List<String> found() {
    Garbage.collect();
    ByteBufAllocator.DEFAULT.buffer(1).release(); // Netty looks when it makes a new one
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

package io.pointsman.proxy;

import io.netty.channel.AbstractChannel;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/** Collects Netty's log messages about channels of stopped event loops. */
final class RefusedTasks extends Handler implements AutoCloseable {
  private static final Logger LOG = Logger.getLogger(AbstractChannel.class.getName());

  private final Queue<String> found = new ConcurrentLinkedQueue<>();

  RefusedTasks() {
    LOG.addHandler(this);
  }

  List<String> found() {
    return List.copyOf(found);
  }

  @Override
  public void publish(LogRecord entry) {
    found.add(entry.getMessage());
  }

  @Override
  public void flush() {}

  @Override
  public void close() {
    LOG.removeHandler(this);
  }
}

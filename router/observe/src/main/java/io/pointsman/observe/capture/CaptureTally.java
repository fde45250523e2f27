package io.pointsman.observe.capture;

import java.util.concurrent.atomic.LongAdder;

/** Counts the requests of all captures of a router. Thread-safe. */
public final class CaptureTally {
  private final LongAdder written = new LongAdder();
  private final LongAdder dropped = new LongAdder();
  private final LongAdder failed = new LongAdder();

  void addWritten(long requests) {
    written.add(requests);
  }

  void addDropped() {
    dropped.increment();
  }

  void addFailed(long requests) {
    failed.add(requests);
  }

  /** Number of requests written, including those in deleted files. */
  public long written() {
    return written.sum();
  }

  /** Number of requests dropped because the queue was full. */
  public long dropped() {
    return dropped.sum();
  }

  /** Number of requests lost to write errors. */
  public long failed() {
    return failed.sum();
  }
}

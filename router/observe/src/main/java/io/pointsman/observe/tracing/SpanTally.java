package io.pointsman.observe.tracing;

import java.util.concurrent.atomic.LongAdder;

/** Counts of spans, of all exporters one after another. Thread-safe. */
public final class SpanTally {
  private final LongAdder exported = new LongAdder();
  private final LongAdder failed = new LongAdder();
  private final LongAdder dropped = new LongAdder();

  void exported(long spans) {
    exported.add(spans);
  }

  void failed(long spans) {
    failed.add(spans);
  }

  void dropped(long spans) {
    dropped.add(spans);
  }

  /** Number of exported spans. */
  public long exported() {
    return exported.sum();
  }

  /** Number of spans lost to failed exports. */
  public long failed() {
    return failed.sum();
  }

  /** Number of spans dropped because the queue was full, or because their exporter had ended. */
  public long dropped() {
    return dropped.sum();
  }
}

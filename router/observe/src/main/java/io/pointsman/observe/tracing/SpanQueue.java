package io.pointsman.observe.tracing;

import io.opentelemetry.context.Context;
import io.opentelemetry.sdk.common.CompletableResultCode;
import io.opentelemetry.sdk.trace.ReadWriteSpan;
import io.opentelemetry.sdk.trace.ReadableSpan;
import io.opentelemetry.sdk.trace.SpanProcessor;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.SpanExporter;
import io.pointsman.engine.env.Ticker;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Exports ended spans in batches on a separate thread. A span that does not fit into the limited
 * queue is dropped. Every span is counted once: as exported, failed or dropped. Ending a span never
 * blocks.
 */
final class SpanQueue implements SpanProcessor, AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(SpanQueue.class);

  /** Maximum number of queued spans; each takes about 2 KB with this router's attributes. */
  static final int CAPACITY = 8192;

  private static final int BATCH = 512;
  private static final Duration PAUSE = Duration.ofMillis(200);
  private static final Duration LONGEST_EXPORT = Duration.ofSeconds(10);

  private final SpanExporter exporter;
  private final Ticker ticker;
  private final Duration longestFlush;
  private final BlockingQueue<ReadableSpan> waiting;
  private final CountDownLatch closing = new CountDownLatch(1);
  private final LongAdder exported = new LongAdder();
  private final LongAdder failed = new LongAdder();
  private final LongAdder dropped = new LongAdder();
  private final Thread thread;

  /**
   * Deadline of the final flush, on the ticker's scale; set before {@link #closing} is counted
   * down.
   */
  private volatile long flushUntil;

  /** True if the last export failed. Owned by the exporting thread. */
  private boolean away;

  /**
   * @param longestFlush time limit of the final flush
   */
  SpanQueue(SpanExporter exporter, Ticker ticker, int capacity, Duration longestFlush) {
    this.exporter = exporter;
    this.ticker = ticker;
    this.longestFlush = longestFlush;
    waiting = new ArrayBlockingQueue<>(capacity);
    thread = Thread.ofVirtual().name("span-export").start(this::run);
  }

  @Override
  public void onStart(Context parent, ReadWriteSpan span) {}

  @Override
  public boolean isStartRequired() {
    return false;
  }

  @Override
  public void onEnd(ReadableSpan span) {
    if (span.getSpanContext().isSampled() && !waiting.offer(span)) {
      dropped.increment();
    }
  }

  @Override
  public boolean isEndRequired() {
    return true;
  }

  private void run() {
    try {
      boolean last = false;
      while (!last) {
        last = closing.await(PAUSE.toMillis(), TimeUnit.MILLISECONDS);
        exportWaiting(last);
      }
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  private void exportWaiting(boolean last) {
    List<ReadableSpan> batch = new ArrayList<>(BATCH);
    while (waiting.drainTo(batch, BATCH) > 0) {
      long left = last ? flushUntil - ticker.nanos() : LONGEST_EXPORT.toNanos();
      if (left > 0) {
        export(batch, left);
      } else {
        dropped.add(batch.size());
      }
      batch.clear();
    }
  }

  private void export(List<ReadableSpan> batch, long mostNanos) {
    List<SpanData> spans = batch.stream().map(ReadableSpan::toSpanData).toList();
    CompletableResultCode result = taken(spans).join(mostNanos, TimeUnit.NANOSECONDS);
    if (result.isSuccess()) {
      exported.add(spans.size());
      if (away) {
        log.info("the trace collector accepts spans again");
      }
    } else {
      failed.add(spans.size());
      if (!away) {
        log.warn("the trace collector does not accept spans; they are dropped until it does");
      }
    }
    away = !result.isSuccess();
  }

  private CompletableResultCode taken(List<SpanData> spans) {
    try {
      return exporter.export(spans);
    } catch (RuntimeException e) {
      log.error("spans cannot be exported", e);
      return CompletableResultCode.ofFailure();
    }
  }

  /** Number of exported spans. */
  long exported() {
    return exported.sum();
  }

  /** Number of spans lost to failed exports. */
  long failed() {
    return failed.sum();
  }

  /** Number of spans dropped because the queue was full. */
  long dropped() {
    return dropped.sum();
  }

  /** Exports the queued spans within the time limit, and stops. */
  @Override
  public void close() {
    flushUntil = ticker.nanos() + longestFlush.toNanos();
    closing.countDown();
    try {
      thread.join(longestFlush.plusMillis(500));
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
    exporter.shutdown();
  }
}

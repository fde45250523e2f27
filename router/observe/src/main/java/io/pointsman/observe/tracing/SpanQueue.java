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
import java.util.concurrent.atomic.AtomicInteger;
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
  private final SpanTally tally;

  /** Number of spans that have begun and not ended. */
  private final AtomicInteger open = new AtomicInteger();

  private final Thread thread;

  /** True if the queue ends with the last open span. */
  private volatile boolean retiring;

  /** True if no thread takes spans any longer. */
  private volatile boolean ended;

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
  SpanQueue(
      SpanExporter exporter, SpanTally tally, Ticker ticker, int capacity, Duration longestFlush) {
    this.exporter = exporter;
    this.tally = tally;
    this.ticker = ticker;
    this.longestFlush = longestFlush;
    waiting = new ArrayBlockingQueue<>(capacity);
    thread = Thread.ofVirtual().name("span-export").start(this::run);
  }

  @Override
  public void onStart(Context parent, ReadWriteSpan span) {
    open.incrementAndGet();
  }

  @Override
  public boolean isStartRequired() {
    return true;
  }

  @Override
  public void onEnd(ReadableSpan span) {
    if (span.getSpanContext().isSampled()) {
      boolean kept = waiting.offer(span);
      if (!kept || (ended && waiting.remove(span))) {
        tally.dropped(1);
      }
    }
    // Last, because the queue may end with the last open span.
    open.decrementAndGet();
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
        if (!last && retiring && open.get() == 0) {
          flushUntil = ticker.nanos() + longestFlush.toNanos();
          last = true;
        }
        exportWaiting(last);
      }
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    } finally {
      ended = true;
      List<ReadableSpan> late = new ArrayList<>();
      waiting.drainTo(late);
      tally.dropped(late.size());
      exporter.shutdown();
    }
  }

  /** Ends after the last open span, with a flush. Does not wait. */
  void retire() {
    retiring = true;
  }

  /** True if it has ended, with its exporter. */
  boolean ended() {
    return ended;
  }

  private void exportWaiting(boolean last) {
    List<ReadableSpan> batch = new ArrayList<>(BATCH);
    while (waiting.drainTo(batch, BATCH) > 0) {
      long left = last ? flushUntil - ticker.nanos() : LONGEST_EXPORT.toNanos();
      if (left > 0) {
        export(batch, left);
      } else {
        tally.dropped(batch.size());
      }
      batch.clear();
    }
  }

  private void export(List<ReadableSpan> batch, long mostNanos) {
    List<SpanData> spans = batch.stream().map(ReadableSpan::toSpanData).toList();
    CompletableResultCode result = taken(spans).join(mostNanos, TimeUnit.NANOSECONDS);
    if (result.isSuccess()) {
      tally.exported(spans.size());
      if (away) {
        log.info("the trace collector accepts spans again");
      }
    } else {
      tally.failed(spans.size());
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

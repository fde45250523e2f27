package io.pointsman.observe.logging;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.LoggingEvent;
import ch.qos.logback.core.OutputStreamAppender;
import ch.qos.logback.core.UnsynchronizedAppenderBase;
import java.io.IOException;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A limited queue of lines in front of a file or stream. One thread writes them in their order, all
 * lines of a short time with one call to the system. Logback's AsyncAppender wakes its thread and
 * calls the system for each line, which takes longer than the line. The first line after a pause is
 * written at once. A full queue drops lines; the next line in the output has their number.
 */
final class LogQueue extends UnsynchronizedAppenderBase<ILoggingEvent> {
  /** Maximum number of queued lines. */
  static final int LENGTH = 4096;

  /** Maximum delay of a line, if the output is not slow. Lines of this time are one batch. */
  private static final int PAUSE_MILLIS = 5;

  /** Size of an output's buffer in bytes. */
  static final int BUFFER = 64 << 10;

  private static final int MOST_MILLIS_AT_END = 500;

  /** An output with its failed writes, for example on a full disk. */
  interface Output {
    /** Called before each batch. */
    void prepare();

    OutputStreamAppender<ILoggingEvent> lines();

    /**
     * Called after each batch.
     *
     * @param written lines of the batch
     * @return number of lost lines of the batch, because a write failed
     */
    int lost(int written);
  }

  /** A change between two lines. */
  private static final class Step extends LoggingEvent {
    private final Runnable change;

    Step(Runnable change) {
      this.change = change;
    }
  }

  private final LoggerContext loggers;
  private final Output output;
  private final AtomicLong lost;
  private final BlockingQueue<ILoggingEvent> queue = new ArrayBlockingQueue<>(LENGTH);
  private final AtomicLong dropped = new AtomicLong();
  private final CountDownLatch ends = new CountDownLatch(1);
  private final Thread writer;

  /**
   * @param output receives the lines; stopped with the queue. It must not flush each line.
   * @param lost counts dropped lines, and lines of writes that failed
   */
  LogQueue(Output output, LoggerContext context, AtomicLong lost) {
    this.output = output;
    this.lost = lost;
    loggers = context;
    setContext(context);
    writer = Thread.ofPlatform().daemon().name("pointsman-log").unstarted(this::write);
  }

  @Override
  public void start() {
    super.start();
    writer.start();
  }

  @Override
  protected void append(ILoggingEvent event) {
    event.prepareForDeferredProcessing();
    if (!queue.offer(event)) {
      dropped.incrementAndGet();
      lost.incrementAndGet();
    }
  }

  /** Makes a change after all lines before it are written; at once if the queue is full. */
  void inOrder(Runnable change) {
    if (!queue.offer(new Step(change))) {
      change.run();
    }
  }

  private void write() {
    List<ILoggingEvent> batch = new ArrayList<>(LENGTH);
    boolean ended = false;
    while (!ended) {
      try {
        batch.add(queue.take());
        write(batch);
        ended = ends.await(PAUSE_MILLIS, TimeUnit.MILLISECONDS);
      } catch (InterruptedException _) {
        ended = true;
      }
    }
    write(batch);
    output.lines().stop();
  }

  /** Writes the batch and all queued lines, and clears the batch. */
  private void write(List<ILoggingEvent> batch) {
    long missing = dropped.getAndSet(0);
    queue.drainTo(batch);
    if (missing > 0) {
      // They were dropped while the queue was full, so after the lines of this batch.
      batch.add(report(missing));
    }
    output.prepare();
    int written = 0;
    for (ILoggingEvent each : batch) {
      if (each instanceof Step step) {
        step.change.run();
      } else {
        output.lines().doAppend(each);
        written++;
      }
    }
    OutputStream stream = output.lines().getOutputStream();
    try {
      if (stream != null) {
        stream.flush();
      }
    } catch (IOException e) {
      addError("the log cannot be written", e);
    }
    lost.addAndGet(output.lost(written));
    batch.clear();
  }

  private LoggingEvent report(long missing) {
    String message = missing + " lines of the log were dropped, because its output is too slow";
    return new LoggingEvent(
        LogSetup.class.getName(),
        loggers.getLogger(LogSetup.class),
        Level.WARN,
        message,
        null,
        null);
  }

  /** Writes the queued lines, for at most 500 ms. */
  @Override
  public void stop() {
    if (!isStarted()) {
      return;
    }
    super.stop();
    ends.countDown();
    writer.interrupt();
    try {
      writer.join(MOST_MILLIS_AT_END);
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }
}

package io.pointsman.app.capture;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.pointsman.app.capture.CapturedRequest.End;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.AnswerLearner;
import io.pointsman.engine.policy.RoutingRequest;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes down each request of which an answer has begun: when it came, how long prompt and answer
 * were, the hashes of the prompt's blocks, the decision, how long it took. No text. Told as a
 * learner; event loops only put requests in line, a thread of its own writes. What the line has no
 * room for is left out and counted, and so is what the disk does not take: the router serves on,
 * and the capture with it as soon as there is room.
 */
public final class TraceCapture implements AnswerLearner, AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(TraceCapture.class);

  /** What waits is bounded by its memory, which is mostly hashes: 16 MiB. */
  private static final long MOST_WAITING = 2L << 20;

  /** What a request weighs beside its hashes. */
  private static final long REQUEST_WEIGHT = 64;

  private static final int BATCH_BYTES = 32 << 10;
  private static final long PAUSE_MILLIS = 50;
  private static final long CLOSING_MILLIS = 5000;

  private final Ticker ticker;
  private final long begun;
  private final CaptureFiles files;
  private final Queue<CapturedRequest> line = new ConcurrentLinkedQueue<>();
  private final AtomicLong waiting = new AtomicLong();
  private final Map<Lease, Long> firstTokens = new ConcurrentHashMap<>();
  private final LongAdder written = new LongAdder();
  private final LongAdder dropped = new LongAdder();
  private final LongAdder failed = new LongAdder();
  private final CountDownLatch closed = new CountDownLatch(1);
  private final Thread writer;

  // Of the writer.
  private final ByteArrayOutputStream batch = new ByteArrayOutputStream(2 * BATCH_BYTES);
  private int batched;
  private boolean failing;

  /**
   * Begins to write.
   *
   * @throws IOException if the file cannot be written
   */
  public TraceCapture(CaptureSettings settings, Ticker ticker) throws IOException {
    this.ticker = ticker;
    begun = ticker.nanos();
    files = new CaptureFiles(settings);
    writer = Thread.ofPlatform().daemon().name("pointsman-capture").start(this::write);
  }

  @Override
  public void placed(RoutingRequest request, Lease lease) {}

  @Override
  public void answered(RoutingRequest request, Lease lease) {
    firstTokens.put(lease, lease.firstTokenAt());
    if (lease.settled()) {
      firstTokens.remove(lease);
    }
  }

  /**
   * A prefill is a part of a request that is told by its decode. What fails or is given up before a
   * token has come may be tried again, and is told then.
   */
  @Override
  public void ended(RoutingRequest request, Lease lease, Outcome outcome) {
    Long firstToken = firstTokens.remove(lease);
    End end =
        switch (outcome) {
          case Outcome.Succeeded(boolean served) -> served ? End.OK : End.REFUSED;
          case Outcome.Failed _, Outcome.Ignored _ -> firstToken == null ? null : End.CUT;
        };
    if (end == null || request.role() == Role.PREFILL || request.prefix().count() == 0) {
      return;
    }
    CapturedRequest captured =
        CapturedRequest.of(request, lease, end, begun, firstToken, ticker.nanos());
    if (waiting.get() >= MOST_WAITING) {
      dropped.increment();
      return;
    }
    waiting.addAndGet(weight(captured));
    line.add(captured);
  }

  private static long weight(CapturedRequest captured) {
    return captured.prefix().count() + REQUEST_WEIGHT;
  }

  @Override
  public void forget(Worker worker) {}

  /** Requests that are in the files, or were until their file went. */
  public long written() {
    return written.sum();
  }

  /** Requests left out because too many were waiting. */
  public long dropped() {
    return dropped.sum();
  }

  /** Requests that the disk did not take. */
  public long failed() {
    return failed.sum();
  }

  private void write() {
    try {
      boolean open = true;
      while (open) {
        open = !closed.await(PAUSE_MILLIS, TimeUnit.MILLISECONDS);
        for (CapturedRequest next = line.poll(); next != null; next = line.poll()) {
          waiting.addAndGet(-weight(next));
          add(next.json().getBytes(UTF_8));
        }
        flush();
      }
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    } finally {
      files.close();
    }
  }

  private void add(byte[] json) {
    if (batch.size() + json.length > BATCH_BYTES) {
      flush();
    }
    batch.writeBytes(json);
    batched++;
  }

  private void flush() {
    if (batched == 0) {
      return;
    }
    try {
      files.write(ByteBuffer.wrap(batch.toByteArray()));
      written.add(batched);
      if (failing) {
        log.info("captured requests are written again");
      }
      failing = false;
    } catch (IOException e) {
      failed.add(batched);
      if (!failing) {
        log.error("captured requests cannot be written: {}", e.toString());
      }
      failing = true;
    }
    batch.reset();
    batched = 0;
  }

  /** Writes what waits, for a few seconds at most. */
  @Override
  public void close() {
    closed.countDown();
    try {
      writer.join(CLOSING_MILLIS);
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }
}

package io.pointsman.observe.capture;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.pointsman.config.settings.CaptureSettings;
import io.pointsman.engine.env.LogText;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.LeaseView;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.AnswerLearner;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.observe.capture.CapturedRequest.ResponseEnd;
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
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes one line for each request with a response: arrival, lengths of prompt and response, hashes
 * of the prompt's blocks, decision, durations. The line contains no text of the request.
 *
 * <p>Event loops only enqueue requests; a separate thread writes them. Requests that exceed the
 * queue or fail to be written are dropped and counted. Routing continues, and the capture resumes
 * when there is space again. A capture to another file can take over the requests in progress.
 */
public final class TraceCapture implements AnswerLearner, AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(TraceCapture.class);

  /** Maximum queue size in hashes, which take 8 bytes each: 16 MiB. */
  private static final long MOST_WAITING = 2L << 20;

  /** Size of a request without its hashes, in units of one hash. */
  private static final long REQUEST_WEIGHT = 64;

  private static final int BATCH_BYTES = 32 << 10;
  private static final long PAUSE_MILLIS = 50;
  private static final long CLOSING_MILLIS = 5000;

  private final Ticker ticker;
  private final long begun;
  private final CaptureFiles files;
  private final Queue<CapturedRequest> line = new ConcurrentLinkedQueue<>();
  private final AtomicLong waiting = new AtomicLong();
  private final Map<LeaseView, Long> firstTokens = new ConcurrentHashMap<>();
  private final CaptureTally tally;

  /** Gets the requests that end later; null while there is none. */
  private volatile @Nullable TraceCapture successor;

  private final CountDownLatch closed = new CountDownLatch(1);
  private final Thread writer;

  // Used only by the writer thread.
  private final ByteArrayOutputStream batch = new ByteArrayOutputStream(2 * BATCH_BYTES);
  private int batched;
  private boolean failing;

  /**
   * Checks the file and starts the writer thread. An existing file is put aside before the first
   * line.
   *
   * @param tally counts the requests
   * @throws IOException if the file cannot be written
   */
  public TraceCapture(CaptureSettings settings, Ticker ticker, CaptureTally tally)
      throws IOException {
    this.ticker = ticker;
    this.tally = tally;
    begun = ticker.nanos();
    files = new CaptureFiles(settings);
    writer = Thread.ofPlatform().daemon().name("pointsman-capture").start(this::write);
  }

  /** Uses other limits for the same file. */
  public void limit(CaptureSettings settings) {
    files.limit(settings.maxBytes(), settings.files());
  }

  /**
   * Ends this capture. Requests that are in progress are written by the next one.
   *
   * @param next null: nothing is captured any longer
   */
  public void close(@Nullable TraceCapture next) {
    successor = next;
    close();
  }

  @Override
  public void placed(RoutingRequest request, LeaseView lease) {}

  @Override
  public void answered(RoutingRequest request, LeaseView lease, long at) {
    firstTokens.put(lease, at);
    if (lease.settled()) {
      firstTokens.remove(lease);
    }
  }

  /**
   * Enqueues the request, except for a prefill: its decode reports the whole request. An attempt
   * that fails before the first token is not captured, because a retry may follow.
   */
  @Override
  public void ended(RoutingRequest request, LeaseView lease, Outcome outcome) {
    ended(request, lease, outcome, firstTokens.remove(lease));
  }

  private void ended(
      RoutingRequest request, LeaseView lease, Outcome outcome, @Nullable Long firstToken) {
    TraceCapture next = successor;
    if (next != null) {
      next.ended(request, lease, outcome, firstToken);
      return;
    }
    ResponseEnd end =
        switch (outcome) {
          case Outcome.Succeeded(boolean served) -> served ? ResponseEnd.OK : ResponseEnd.REFUSED;
          case Outcome.Failed _, Outcome.Ignored _ -> firstToken == null ? null : ResponseEnd.CUT;
        };
    if (end == null || request.role() == Role.PREFILL || request.prefix().count() == 0) {
      return;
    }
    CapturedRequest captured =
        CapturedRequest.of(request, lease, end, begun, firstToken, ticker.nanos());
    if (waiting.get() >= MOST_WAITING) {
      tally.addDropped();
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
      tally.addWritten(batched);
      if (failing) {
        log.info("captured requests are written again");
      }
      failing = false;
    } catch (IOException e) {
      tally.addFailed(batched);
      if (!failing) {
        log.error("captured requests cannot be written: {}", LogText.of(e));
      }
      failing = true;
    }
    batch.reset();
    batched = 0;
  }

  /** Writes the queued requests; waits at most 5 s. */
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

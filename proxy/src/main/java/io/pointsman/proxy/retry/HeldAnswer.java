package io.pointsman.proxy.retry;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.wire.BodyFraming;
import io.pointsman.proxy.wire.ChunkFraming;
import io.pointsman.proxy.wire.ResponseHead;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/**
 * An error of a worker, kept while another one is tried: it is what the client gets if none does
 * better. Bounded. Belongs to the event loop.
 */
public final class HeldAnswer {
  /** Largest body that is kept while another worker is tried. */
  public static final int MOST_BYTES = 65_536;

  /** The status of a worker that says it is busy within a stream. */
  public static final int BUSY = 503;

  /** How vLLM says that its queue is full, as opposed to other reasons for a 503. */
  private static final Pattern QUEUE_FULL_TYPE =
      Pattern.compile("\"type\"\\s*:\\s*\"Service ?Unavailable");

  private static final Pattern QUEUE_FULL_CODE = Pattern.compile("\"code\"\\s*:\\s*503\\b");

  /** How long a worker rests that says it is busy, but not for how long, in nanoseconds. */
  public static final long REST_NANOS = 200_000_000L;

  private final Worker worker;
  private final int status;
  private final long retryAfterSeconds;
  private final long longestRestNanos;
  private final byte[] head;
  private final BodyFraming framing;
  private final ByteBuf body;
  private boolean complete;
  private boolean surplus;

  /**
   * One whose body is still to come.
   *
   * @param head as it came, {@code parsed} from
   * @param method of the request
   * @param longestRest the longest {@code Retry-After} that is honoured
   */
  public HeldAnswer(
      Worker worker,
      ResponseHead parsed,
      byte[] head,
      String method,
      ByteBufAllocator allocator,
      Duration longestRest) {
    this.worker = worker;
    longestRestNanos = Math.max(longestRest.toNanos(), REST_NANOS);
    this.head = head;
    status = parsed.status();
    retryAfterSeconds = parsed.retryAfterSeconds();
    framing = new BodyFraming(parsed, method);
    body = allocator.buffer(1024);
    complete = framing.empty();
  }

  /**
   * Keeps more of the body, also of one that is empty and thus complete; takes over its ownership.
   * False if that is not possible.
   */
  public boolean keep(ByteBuf part) {
    int from = part.readerIndex();
    int to = part.writerIndex();
    int end = framing.scan(part, from, to);
    surplus |= end >= 0 && end < to;
    complete = end >= 0;
    body.writeBytes(part, from, (end >= 0 ? end : to) - from);
    part.release();
    return end != ChunkFraming.MALFORMED;
  }

  public boolean fits() {
    return bytes() <= MOST_BYTES;
  }

  /** Bytes of the body so far, framing included. */
  public int bytes() {
    return body.readableBytes();
  }

  public boolean complete() {
    return complete;
  }

  /** Whether the worker sent more than its answer. */
  public boolean surplus() {
    return surplus;
  }

  /** The connection has ended; whether the answer is complete by that. */
  public boolean endOfConnection() {
    complete |= framing.kind() == BodyFraming.Kind.UNTIL_CLOSE;
    return complete;
  }

  public Worker worker() {
    return worker;
  }

  public int status() {
    return status;
  }

  /** In seconds, or {@link ResponseHead#UNKNOWN}. */
  public long retryAfterSeconds() {
    return retryAfterSeconds;
  }

  /**
   * How long a worker that says it is busy is left alone, in nanoseconds: as long as it says, but
   * no longer than is honoured.
   */
  public long restNanos() {
    return retryAfterSeconds > 0
        ? Math.min(TimeUnit.SECONDS.toNanos(retryAfterSeconds), longestRestNanos)
        : REST_NANOS;
  }

  public boolean workersFault() {
    return workersFault(status);
  }

  /** Whether it is the worker's fault: 5xx, but for those that say that it does not know how. */
  public static boolean workersFault(int status) {
    return status >= 500 && status != 501 && status != 505;
  }

  /** Whether the worker says no more than that it has too much to do just now. */
  public boolean busy() {
    if (status == 429) {
      return true;
    }
    return status == 503 && (retryAfterSeconds != ResponseHead.UNKNOWN || saysQueueFull());
  }

  private boolean saysQueueFull() {
    String text = body.toString(StandardCharsets.ISO_8859_1);
    return QUEUE_FULL_TYPE.matcher(text).find() && QUEUE_FULL_CODE.matcher(text).find();
  }

  /** The head as it came. */
  public byte[] head() {
    return head;
  }

  /** The body as it came, framing included; handed over. */
  public ByteBuf takeBody() {
    return body;
  }

  public void release() {
    body.release();
  }
}

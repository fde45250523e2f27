package io.pointsman.proxy.retry;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.wire.BodyFraming;
import io.pointsman.proxy.wire.ChunkFraming;
import io.pointsman.proxy.wire.ResponseHead;
import io.pointsman.request.event.EngineEnd;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A worker's answer, buffered until it is complete: an error, which the client gets if no other
 * attempt does better, or an answer in one piece, which its engine may have aborted. Belongs to the
 * event loop.
 */
public final class BufferedResponse {
  /** Maximum size in bytes of a buffered body during a retry. */
  public static final int MOST_BYTES = 65_536;

  /** Status of a worker that reports an overload within a stream. */
  public static final int BUSY = 503;

  /**
   * Patterns of vLLM's error for a full queue. They distinguish it from other reasons for status
   * 503.
   */
  private static final Pattern QUEUE_FULL_TYPE =
      Pattern.compile("\"type\"\\s*:\\s*\"Service ?Unavailable");

  private static final Pattern QUEUE_FULL_CODE = Pattern.compile("\"code\"\\s*:\\s*503\\b");

  /** Status of an overloaded engine in some APIs. */
  public static final int OVERLOADED = 529;

  /** Rest of a busy worker without {@code Retry-After}, in nanoseconds. */
  public static final long REST_NANOS = 200_000_000L;

  private final Worker worker;
  private final int status;
  private final long retryAfterSeconds;
  private final long longestRestNanos;
  private final byte[] head;
  private final BodyFraming framing;
  private final ByteBufAllocator allocator;

  /** Null until the first bytes. */
  private @Nullable ByteBuf body;

  private boolean complete;
  private boolean surplus;

  /**
   * An answer without its body, which follows.
   *
   * @param head bytes of the head, from which {@code parsed} was read
   * @param method method of the request
   * @param longestRest maximum {@code Retry-After} that is honoured
   */
  public BufferedResponse(
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
    this.allocator = allocator;
    complete = framing.empty();
  }

  /**
   * Buffers more of the body, which may be empty and complete. The ownership of {@code part} passes
   * to this method. Returns false if the framing is malformed.
   */
  public boolean keep(ByteBuf part) {
    int from = part.readerIndex();
    int to = part.writerIndex();
    int end = framing.scan(part, from, to);
    surplus |= end >= 0 && end < to;
    complete = end >= 0;
    add(part, from, end >= 0 ? end : to);
    return end != ChunkFraming.MALFORMED;
  }

  /** A good answer that arrived in one part is not copied; it is sent at once. */
  private void add(ByteBuf part, int from, int to) {
    ByteBuf into = body;
    if (from == to) {
      part.release();
      return;
    }
    if (into == null && complete && status < 400) {
      body = part.setIndex(from, to);
      return;
    }
    if (into == null) {
      into = allocator.buffer(Math.max(1024, to - from));
      body = into;
    }
    into.writeBytes(part, from, to - from);
    part.release();
  }

  /** Number of buffered bytes of the body, framing included. */
  public int bytes() {
    return body == null ? 0 : body.readableBytes();
  }

  public boolean complete() {
    return complete;
  }

  /** True if the worker sent more than its answer. */
  public boolean surplus() {
    return surplus;
  }

  /** Reports the end of the connection. Returns true if the answer is complete. */
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

  /** {@code Retry-After} in seconds, or {@link ResponseHead#UNKNOWN}. */
  public long retryAfterSeconds() {
    return retryAfterSeconds;
  }

  /**
   * Rest of a busy worker in nanoseconds: its {@code Retry-After}, within the maximum that is
   * honoured.
   */
  public long restNanos() {
    return retryAfterSeconds > 0
        ? Math.min(TimeUnit.SECONDS.toNanos(retryAfterSeconds), longestRestNanos)
        : REST_NANOS;
  }

  /** Lets the busy worker rest. */
  public void restWorker() {
    if (retryAfterSeconds > 0) {
      worker.rest(restNanos(), restStatus());
    } else {
      worker.restBriefly(restNanos(), restStatus());
    }
  }

  /** Status for clients while all workers are as busy as this one. */
  private int restStatus() {
    return status == 500 ? BUSY : status;
  }

  public boolean workersFault() {
    return workersFault(status) && !busy();
  }

  /**
   * True if the status is a failure of the worker: 5xx, except 501 and 505, which report a missing
   * feature, and 529, which reports an overload.
   */
  public static boolean workersFault(int status) {
    return status >= 500 && status != 501 && status != 505 && status != OVERLOADED;
  }

  /** True if the status is a failure that the request may have caused. 503 precedes the work. */
  public static boolean enginesFault(int status) {
    return workersFault(status) && status != BUSY;
  }

  /** True if the answer only reports an overload, or that the worker is shutting down. */
  public boolean busy() {
    if (status == 429 || status == OVERLOADED) {
      return true;
    }
    if (status == 500) {
      return EngineEnd.of(text()) == EngineEnd.SHUTDOWN;
    }
    return status == 503 && (retryAfterSeconds != ResponseHead.UNKNOWN || saysQueueFull());
  }

  /** True if the answer reports that the engine has ended or shuts down. */
  public boolean engineEnded() {
    return (status == 500 || status == 503) && EngineEnd.of(text()) != EngineEnd.NONE;
  }

  private String text() {
    return body == null ? "" : body.toString(StandardCharsets.ISO_8859_1);
  }

  private boolean saysQueueFull() {
    String text = text();
    return QUEUE_FULL_TYPE.matcher(text).find() && QUEUE_FULL_CODE.matcher(text).find();
  }

  /** Bytes of the head, unchanged. */
  public byte[] head() {
    return head;
  }

  /** Bytes of the body, unchanged, framing included. Their ownership passes to the caller. */
  public ByteBuf takeBody() {
    return body == null ? Unpooled.EMPTY_BUFFER : body;
  }

  public void release() {
    if (body != null) {
      body.release();
    }
  }
}

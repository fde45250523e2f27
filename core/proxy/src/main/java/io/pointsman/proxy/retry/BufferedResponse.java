package io.pointsman.proxy.retry;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.wire.BodyFraming;
import io.pointsman.proxy.wire.ChunkFraming;
import io.pointsman.proxy.wire.ResponseHead;
import io.pointsman.proxy.wire.SentKey;
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

  /**
   * Signs of a limit of the caller in the head of an answer with status 429, and in its body. The
   * first ones are of a router, the others of hosted services and gateways.
   */
  private static final Pattern OWN_LIMIT =
      Pattern.compile("\nx-pointsman-limit:", Pattern.CASE_INSENSITIVE);

  private static final Pattern CALLERS_LIMIT =
      Pattern.compile("\nx-ratelimit-", Pattern.CASE_INSENSITIVE);

  private static final Pattern LIMIT_CODE =
      Pattern.compile("\"code\"\\s*:\\s*\"rate_limit_exceeded\"");

  private static final Pattern SHED =
      Pattern.compile("\nx-pointsman-shed-reason:", Pattern.CASE_INSENSITIVE);

  private static final String OVERLOAD_WORDS =
      "(?:overload|\\bbusy\\b|_busy\\b|queue|saturat|exhausted|capacity|concurren)";

  /** Words of an engine that is overloaded, in the body of an answer with status 429. */
  private static final Pattern OVERLOAD = Pattern.compile(OVERLOAD_WORDS, Pattern.CASE_INSENSITIVE);

  /** The same in a code or type. Other members may repeat text of the client. */
  private static final Pattern OVERLOAD_CODE =
      Pattern.compile(
          "\"(?:code|(?:error_)?type)\"\\s*:\\s*\"[^\"]{0,64}?" + OVERLOAD_WORDS,
          Pattern.CASE_INSENSITIVE);

  /** Signs of an unknown model in the body of a 404: in the error object, or in its type. */
  private static final Pattern MODEL_NOT_FOUND =
      Pattern.compile("\"param\"\\s*:\\s*\"model\"|\"code\"\\s*:\\s*\"model_not_found\"");

  private static final Pattern NOT_FOUND_TYPE =
      Pattern.compile("\"type\"\\s*:\\s*\"(NotFoundError|not_found_error)\"");

  private static final int NOT_FOUND = 404;

  /** Status of an overloaded engine in some APIs. */
  public static final int OVERLOADED = 529;

  /** Status of a busy worker, or of a worker that limits the caller. */
  private static final int LIMITED = 429;

  /** Status of a router that has already forwarded the request. */
  public static final int LOOP = 508;

  /** Rest of a busy worker without {@code Retry-After}, in nanoseconds. */
  public static final long REST_NANOS = 200_000_000L;

  private final Worker worker;
  private final int status;
  private final long retryAfterSeconds;
  private final long longestRestNanos;
  private final byte[] head;
  private final BodyFraming framing;
  private final ByteBufAllocator allocator;
  private final SentKey key;

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
   * @param key the key that the worker got
   */
  public BufferedResponse(
      Worker worker,
      ResponseHead parsed,
      byte[] head,
      String method,
      ByteBufAllocator allocator,
      Duration longestRest,
      SentKey key) {
    this.key = key;
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

  /** True if the busy worker rests, because its load is the reason, and no limit of the client. */
  public boolean rests() {
    return busy() && !mayLimitCaller();
  }

  /** Lets the busy worker rest, unless its answer may concern this client only. */
  public void restWorker() {
    if (mayLimitCaller()) {
      return;
    }
    if (retryAfterSeconds > 0) {
      worker.rest(restNanos(), restStatus());
    } else {
      worker.restBriefly(restNanos(), restStatus());
    }
  }

  /** Status for clients while all workers are as busy as this one. */
  private int restStatus() {
    return status == 500 ? ProxyError.ALL_BUSY.status() : status;
  }

  public boolean workersFault() {
    return workersFault(status) && !busy();
  }

  /**
   * True if the status is a failure of the worker: 5xx, except 501 and 505, which report a missing
   * feature, 508, which a router sends to end a circle, and 529, which reports an overload.
   */
  public static boolean workersFault(int status) {
    return switch (status) {
      case 501, 505, LOOP, OVERLOADED -> false;
      default -> status >= 500;
    };
  }

  /** True if the status is a failure that the request may have caused. 503 precedes the work. */
  public static boolean enginesFault(int status) {
    return workersFault(status) && status != BUSY;
  }

  /** True if the answer only reports an overload, or that the worker is shutting down. */
  public boolean busy() {
    if (status == LIMITED) {
      return !limitsCaller();
    }
    if (status == OVERLOADED) {
      return true;
    }
    if (status == 500) {
      return EngineEnd.of(text()) == EngineEnd.SHUTDOWN;
    }
    return status == 503 && (retryAfterSeconds != ResponseHead.UNKNOWN || saysQueueFull());
  }

  /**
   * True if the answer certainly refuses this client because of a limit of its own. Another worker
   * would refuse it too. A limit of the router's key concerns all clients.
   */
  public boolean limitsCaller() {
    return status == LIMITED
        && key != SentKey.ROUTER
        && (OWN_LIMIT.matcher(headers()).find() || LIMIT_CODE.matcher(text()).find());
  }

  /**
   * True if the answer may refuse this client because of a limit of its own, without proof. Other
   * workers are tried, and this one does not rest. The signs are limits in the head, and the
   * client's own key, without a sign of an overload.
   */
  public boolean mayLimitCaller() {
    if (status != LIMITED || key == SentKey.ROUTER || limitsCaller()) {
      return false;
    }
    String headers = headers();
    if (SHED.matcher(headers).find()) {
      return false;
    }
    if (CALLERS_LIMIT.matcher(headers).find()) {
      return !OVERLOAD_CODE.matcher(text()).find();
    }
    return key == SentKey.CLIENT && !OVERLOAD.matcher(text()).find();
  }

  private String headers() {
    return new String(head, StandardCharsets.ISO_8859_1);
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

  /**
   * True if the worker reports that it does not serve a model that it has listed.
   *
   * @param model name of the request's model
   */
  public boolean lacksModel(String model) {
    if (status != NOT_FOUND || !worker.models().contains(model)) {
      return false;
    }
    String text = text();
    if (MODEL_NOT_FOUND.matcher(text).find()) {
      return true;
    }
    String name = new String(model.getBytes(StandardCharsets.UTF_8), StandardCharsets.ISO_8859_1);
    return NOT_FOUND_TYPE.matcher(text).find() && names(text, name);
  }

  /** True if a message has a name between quotation marks, or behind a colon. */
  private static boolean names(String text, String name) {
    return text.contains("`" + name + "`")
        || text.contains("'" + name + "'")
        || text.contains("model: " + name);
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

package io.pointsman.proxy.loop;

import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoop;
import io.pointsman.proxy.body.KeptBody;
import io.pointsman.proxy.course.Courses;
import io.pointsman.proxy.flush.Flushes;
import io.pointsman.proxy.retry.RetryBudget;
import io.pointsman.proxy.settings.TimeoutSettings;
import io.pointsman.proxy.upstream.UpstreamPools;
import io.pointsman.proxy.upstream.UpstreamSettings;
import io.pointsman.proxy.wire.ResponseHead;
import io.pointsman.request.RequestReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * What the exchanges of one event loop share: connections to workers, scratch memory, the retry
 * budget, and the sweep that looks for timeouts. Belongs to its event loop, but for {@link
 * #running}.
 *
 * <p>Timeouts cost nothing per request: whoever waits notes when it began to, and one sweep per
 * loop looks at all of them about ten times within the shortest timeout.
 */
public final class LoopState {
  private static final long MOST_SWEEP_NANOS = 1_000_000_000L;
  private static final long LEAST_SWEEP_NANOS = 5_000_000L;
  private static final int SWEEPS_PER_TIMEOUT = 10;

  /** Until the loop has looked at each of its sockets again. */
  private static final long BEFORE_CLOSING_NANOS = 20_000_000L;

  /** Scratch memory kept between requests; a larger body gets its own. */
  private static final int KEPT_SCRATCH = 1 << 20;

  private final Plane plane;
  private final EventLoop loop;
  private final Flushes flushes;
  private final UpstreamPools pools;
  private final RequestReader reader;
  private final RetryBudget budget;
  private final int maxHeadBytes;
  private final @Nullable Courses courses;
  private final ResponseHead head = new ResponseHead();
  private final List<LoopClient> clients = new ArrayList<>();
  private final Executor afterAWhile;
  private byte[] scratch = new byte[8192];
  private boolean sweeping;
  private volatile int running;

  /**
   * @param pools makes the loop's connections to workers; it is handed what it must call when it
   *     keeps a connection
   * @param courses makes the courses of this loop's requests
   * @param loops how many loops there are
   */
  public LoopState(
      Plane plane,
      EventLoop loop,
      Flushes flushes,
      Function<Runnable, UpstreamPools> pools,
      RequestReader reader,
      CourseFactory courses,
      UpstreamSettings upstream,
      int loops) {
    this.plane = plane;
    this.loop = loop;
    this.flushes = flushes;
    this.reader = reader;
    this.pools = pools.apply(this::sweepLater);
    budget = new RetryBudget(plane.retry(), loops, plane.ticker().nanos());
    maxHeadBytes = upstream.maxHeadBytes();
    Courses made = courses.create(this);
    this.courses = made;
    Duration ofCourses = made == null ? Duration.ZERO : made.firstByte();
    long sweepNanos = sweepNanos(plane, upstream, ofCourses);
    afterAWhile = CompletableFuture.delayedExecutor(sweepNanos, TimeUnit.NANOSECONDS, loop);
  }

  private static long sweepNanos(Plane plane, UpstreamSettings upstream, Duration ofCourses) {
    TimeoutSettings t = plane.timeouts();
    List<Duration> all =
        List.of(
            t.firstByte(),
            ofCourses,
            t.idle(),
            t.total(),
            t.streamTotal(),
            t.clientHead(),
            t.clientBody(),
            t.clientIdle(),
            plane.sseKeepalive(),
            upstream.poolIdleTimeout());
    long shortest = Long.MAX_VALUE;
    for (Duration timeout : all) {
      shortest = timeout.isZero() ? shortest : Math.min(shortest, timeout.toNanos());
    }
    return Math.clamp(shortest / SWEEPS_PER_TIMEOUT, LEAST_SWEEP_NANOS, MOST_SWEEP_NANOS);
  }

  /** Null if each request is served by the one worker that the engine chooses. */
  public @Nullable Courses courses() {
    return courses;
  }

  /** What is shared by all loops. */
  public Plane plane() {
    return plane;
  }

  public EventLoop loop() {
    return loop;
  }

  /** When what was written to its connections is sent. */
  public Flushes flushes() {
    return flushes;
  }

  /** Its connections to workers. */
  public UpstreamPools pools() {
    return pools;
  }

  /** Reads what routing needs to know of a request. */
  public RequestReader reader() {
    return reader;
  }

  public RetryBudget budget() {
    return budget;
  }

  /** The parsed head of the answer that is being read just now. */
  public ResponseHead head() {
    return head;
  }

  /** Largest head of an answer, in bytes. */
  public int maxHeadBytes() {
    return maxHeadBytes;
  }

  public ByteBufAllocator allocator() {
    return ByteBufAllocator.DEFAULT;
  }

  /** The time in nanoseconds, by the clock of all timeouts. */
  public long now() {
    return plane.ticker().nanos();
  }

  /** Memory for the moment, of at least {@code length} bytes. */
  public byte[] scratch(int length) {
    if (length > KEPT_SCRATCH) {
      return new byte[length];
    }
    if (length > scratch.length) {
      scratch = new byte[Math.max(length, Math.min(scratch.length * 2, KEPT_SCRATCH))];
    }
    return scratch;
  }

  /** A copy of {@code body} at the beginning of memory for the moment. */
  public byte[] scratch(KeptBody body) {
    byte[] bytes = scratch(body.length());
    body.copyTo(bytes);
    return bytes;
  }

  /** Requests for workers under way on this loop; read by any thread. */
  public int running() {
    return running;
  }

  /** So many more requests for workers are under way. */
  public void count(int change) {
    int counted = running + change;
    running = counted;
  }

  /** Looks after a connection from now on; returns its place. */
  public int add(LoopClient client) {
    clients.add(client);
    sweepLater();
    return clients.size() - 1;
  }

  /** The connection at this place is gone. */
  public void remove(int index) {
    LoopClient last = clients.removeLast();
    if (index < clients.size()) {
      clients.set(index, last);
      last.movedTo(index);
    }
  }

  /**
   * Not by a timer of the loop's own: as long as it has one, io_uring is handed a timeout each time
   * that the loop begins to wait, thousands of times a second.
   */
  private void sweepLater() {
    if (!sweeping) {
      sweeping = true;
      afterAWhile.execute(this::sweep);
    }
  }

  private void sweep() {
    sweeping = false;
    long now = now();
    for (int i = clients.size() - 1; i >= 0; i--) {
      if (i < clients.size()) {
        clients.get(i).checkTimeouts(now);
      }
    }
    boolean unused = pools.sweep(now);
    if (unused || !clients.isEmpty()) {
      sweepLater();
    }
  }

  /**
   * Soon closes connections that are between two requests; the others close after theirs. What lies
   * in their sockets already is read before, since it may be a request.
   */
  @SuppressWarnings("FutureReturnValueIgnored") // closing does not fail
  public void drain() {
    loop.schedule(this::closeUnused, BEFORE_CLOSING_NANOS, TimeUnit.NANOSECONDS);
  }

  private void closeUnused() {
    for (LoopClient client : List.copyOf(clients)) {
      client.drain();
    }
  }

  /** Ends everything that is under way. */
  public void cut() {
    for (LoopClient client : List.copyOf(clients)) {
      client.cut();
    }
    pools.close();
    if (courses != null) {
      courses.close();
    }
  }
}

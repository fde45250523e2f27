package io.pointsman.tool.bench.live;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pointsman.tool.bench.wire.Wire;
import io.pointsman.tool.replay.trace.Trace;
import io.pointsman.tool.replay.trace.TraceRequest;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.DelayQueue;
import java.util.concurrent.Delayed;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/**
 * Open-loop load generator for a trace: it sends each request on schedule, independent of earlier
 * responses. A request that follows another is sent a given time after that one ends. Each request
 * has its own virtual thread and connection.
 */
final class OpenLoop {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String DATA = "data: ";

  /** Read timeout, longer than any run; at a run's limit all connections are closed. */
  private static final Duration PATIENCE = Duration.ofDays(1);

  /** Time before the schedule at which a request is encoded and its connection opened. */
  private static final long LEAD_NANOS = TimeUnit.MILLISECONDS.toNanos(30);

  /** Delay of the first request, because it must be prepared on time too. */
  private static final long START_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  private final Trace trace;
  private final double speed;
  private final IntFunction<String> targets;
  private final long begin;
  private final long stop;
  private final Map<Integer, List<Integer>> followers = new HashMap<>();
  private final DelayQueue<Arrival> arrivals = new DelayQueue<>();
  private final Set<Wire> open = ConcurrentHashMap.newKeySet();
  private final @Nullable RequestTimes[] timings;
  private final CountDownLatch missing;
  private volatile boolean stopped;

  private record Arrival(long due, int index) implements Delayed {
    @Override
    public long getDelay(TimeUnit unit) {
      return unit.convert(due - LEAD_NANOS - System.nanoTime(), TimeUnit.NANOSECONDS);
    }

    @Override
    public int compareTo(Delayed other) {
      return other instanceof Arrival arrival ? Long.signum(due - arrival.due) : 0;
    }
  }

  private OpenLoop(Trace trace, double speed, Duration limit, IntFunction<String> targets) {
    this.trace = trace;
    this.speed = speed;
    this.targets = targets;
    int count = trace.requests().size();
    timings = new RequestTimes[count];
    missing = new CountDownLatch(count);
    begin = System.nanoTime() + START_NANOS;
    stop = begin + limit.toNanos();
    for (int i = 0; i < count; i++) {
      TraceRequest request = trace.requests().get(i);
      if (request.follows() < 0) {
        arrivals.add(new Arrival(begin + nanos(request), i));
      } else {
        followers.computeIfAbsent(request.follows(), _ -> new ArrayList<>()).add(i);
      }
    }
  }

  /**
   * Sends all requests and waits for their responses.
   *
   * @param speed seconds of the trace per second
   * @param limit duration after which open requests fail and no more are sent
   * @param targets base URL by index of the request
   * @return one result per request, in the order of the trace
   */
  static List<RequestTimes> play(
      Trace trace, double speed, Duration limit, IntFunction<String> targets)
      throws InterruptedException {
    return new OpenLoop(trace, speed, limit, targets).play();
  }

  private List<RequestTimes> play() throws InterruptedException {
    try (ExecutorService clients = Executors.newVirtualThreadPerTaskExecutor()) {
      while (missing.getCount() > 0 && System.nanoTime() - stop < 0) {
        Arrival next = arrivals.poll(20, TimeUnit.MILLISECONDS);
        if (next != null) {
          clients.execute(() -> follow(next));
        }
      }
      stopped = true;
      for (Wire wire : open) {
        close(wire);
      }
    }
    List<RequestTimes> all = new ArrayList<>();
    for (int i = 0; i < timings.length; i++) {
      RequestTimes times = timings[i];
      all.add(times == null ? RequestTimes.failed(i, stop, "not sent within the limit") : times);
    }
    return all;
  }

  private long nanos(TraceRequest request) {
    return Math.round(request.at() * 1e6 / speed);
  }

  private void follow(Arrival arrival) {
    RequestTimes times = ask(arrival);
    timings[arrival.index()] = times;
    missing.countDown();
    long now = System.nanoTime();
    for (int follower : followers.getOrDefault(arrival.index(), List.of())) {
      arrivals.add(new Arrival(now + nanos(trace.requests().get(follower)), follower));
    }
  }

  private RequestTimes ask(Arrival arrival) {
    int index = arrival.index();
    byte[] body = TracePrompts.chat(trace, trace.requests().get(index));
    try (Wire wire = new Wire(targets.apply(index), PATIENCE)) {
      open.add(wire);
      try {
        return ask(arrival, wire, body);
      } finally {
        open.remove(wire);
      }
    } catch (IOException e) {
      String what = stopped ? "not answered within the limit" : firstLine(e);
      return RequestTimes.failed(index, arrival.due(), what);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return RequestTimes.failed(index, arrival.due(), "interrupted");
    }
  }

  private RequestTimes ask(Arrival arrival, Wire wire, byte[] body)
      throws IOException, InterruptedException {
    TimeUnit.NANOSECONDS.sleep(Math.max(0, arrival.due() - System.nanoTime()));
    if (stopped) {
      throw new IOException("stopped");
    }
    long sent = System.nanoTime();
    wire.send("/v1/chat/completions", body);
    Wire.TimedReply reply = wire.read();
    JsonNode usage = usage(reply.body());
    return new RequestTimes(
        arrival.index(),
        arrival.due(),
        sent,
        reply.firstNanos(),
        reply.eventNanos().getLast(),
        usage.path("prompt_tokens").asInt(),
        usage.path("prompt_tokens_details").path("cached_tokens").asInt(),
        "");
  }

  /**
   * Token counts in a complete stream.
   *
   * @throws IOException if the stream is incomplete or has no token counts
   */
  private static JsonNode usage(String stream) throws IOException {
    List<String> events =
        Arrays.stream(stream.split("\n\n", -1)).filter(event -> event.startsWith(DATA)).toList();
    if (events.isEmpty() || !events.getLast().equals(DATA + "[DONE]")) {
      throw new IOException("the stream ended before its end");
    }
    for (String event : events.reversed()) {
      if (event.contains("\"usage\":{")) {
        return JSON.readTree(event.substring(DATA.length())).path("usage");
      }
    }
    throw new IOException("the stream has no token counts");
  }

  private static String firstLine(IOException problem) {
    String text = String.valueOf(problem.getMessage()).lines().findFirst().orElse("");
    return text.length() > 160 ? text.substring(0, 160) + " ..." : text;
  }

  private static void close(Wire wire) {
    try {
      wire.close();
    } catch (IOException e) {
      // The connection is closed in any case.
    }
  }
}

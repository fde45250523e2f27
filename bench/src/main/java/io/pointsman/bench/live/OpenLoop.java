package io.pointsman.bench.live;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pointsman.bench.wire.Wire;
import io.pointsman.replay.trace.Trace;
import io.pointsman.replay.trace.TraceRequest;
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
 * Sends the requests of a trace at their times, whatever becomes of those before; one that follows
 * another comes so long after that one's end. A thread and a connection for each.
 */
final class OpenLoop {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String DATA = "data: ";

  /** Longer than any run: at the limit of a run connections are closed. */
  private static final Duration PATIENCE = Duration.ofDays(1);

  /** So early a request is written down and its connection opened, to leave on time. */
  private static final long LEAD_NANOS = TimeUnit.MILLISECONDS.toNanos(30);

  /** How long the first request is put off, so that it is not late already. */
  private static final long START_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  private final Trace trace;
  private final double speed;
  private final IntFunction<String> targets;
  private final long begin;
  private final long stop;
  private final Map<Integer, List<Integer>> followers = new HashMap<>();
  private final DelayQueue<Arrival> arrivals = new DelayQueue<>();
  private final Set<Wire> open = ConcurrentHashMap.newKeySet();
  private final @Nullable Course[] courses;
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
    courses = new Course[count];
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
   * Sends them and waits for their answers.
   *
   * @param speed seconds of the trace per second
   * @param limit after it nothing is sent or waited for any more, and what is open counts as failed
   * @param targets base URL for the request of this index
   * @return one for each request, in the trace's order
   */
  static List<Course> play(Trace trace, double speed, Duration limit, IntFunction<String> targets)
      throws InterruptedException {
    return new OpenLoop(trace, speed, limit, targets).play();
  }

  private List<Course> play() throws InterruptedException {
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
    List<Course> all = new ArrayList<>();
    for (int i = 0; i < courses.length; i++) {
      Course course = courses[i];
      all.add(course == null ? Course.failed(i, stop, "not sent within the limit") : course);
    }
    return all;
  }

  private long nanos(TraceRequest request) {
    return Math.round(request.at() * 1e6 / speed);
  }

  private void follow(Arrival arrival) {
    Course course = ask(arrival);
    courses[arrival.index()] = course;
    missing.countDown();
    long now = System.nanoTime();
    for (int follower : followers.getOrDefault(arrival.index(), List.of())) {
      arrivals.add(new Arrival(now + nanos(trace.requests().get(follower)), follower));
    }
  }

  private Course ask(Arrival arrival) {
    int index = arrival.index();
    byte[] body = Prompts.chat(trace, trace.requests().get(index));
    try (Wire wire = new Wire(targets.apply(index), PATIENCE)) {
      open.add(wire);
      try {
        return ask(arrival, wire, body);
      } finally {
        open.remove(wire);
      }
    } catch (IOException e) {
      String what = stopped ? "not answered within the limit" : firstLine(e);
      return Course.failed(index, arrival.due(), what);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return Course.failed(index, arrival.due(), "interrupted");
    }
  }

  private Course ask(Arrival arrival, Wire wire, byte[] body)
      throws IOException, InterruptedException {
    TimeUnit.NANOSECONDS.sleep(Math.max(0, arrival.due() - System.nanoTime()));
    if (stopped) {
      throw new IOException("stopped");
    }
    long sent = System.nanoTime();
    wire.send("/v1/chat/completions", body);
    Wire.Reply reply = wire.read();
    JsonNode usage = usage(reply.body());
    return new Course(
        arrival.index(),
        arrival.due(),
        sent,
        reply.firstNanos(),
        reply.eventNanos().getLast(),
        usage.path("prompt_tokens").asInt(),
        usage.path("prompt_tokens_details").path("cached_tokens").asInt(),
        "");
  }

  /** Of a whole stream; everything before its first token is sent together with that. */
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
      // It is gone all the same.
    }
  }
}

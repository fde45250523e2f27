package io.pointsman.sim.kv;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;

/** The last requests as they came, byte by byte. Bounded; off with 0. Owned by the event loop. */
public final class RequestLog {
  /** Most bytes of bodies kept in all. */
  private static final long MOST_BYTES = 64L << 20;

  /** One request. */
  public static final class Logged {
    private final String method;
    private final String path;
    private final List<Map.Entry<String, String>> headers;
    private final byte[] body;

    /** Keeps the body without a copy. */
    public Logged(
        String method, String path, List<Map.Entry<String, String>> headers, byte[] body) {
      this.method = method;
      this.path = path;
      this.headers = List.copyOf(headers);
      this.body = body;
    }

    /** The method as it came. */
    public String method() {
      return method;
    }

    /** The target as it came. */
    public String path() {
      return path;
    }

    /** In the order in which they came. */
    public List<Map.Entry<String, String>> headers() {
      return headers;
    }

    /** The body's bytes; not to be modified. */
    public byte[] body() {
      return body;
    }
  }

  private final int capacity;
  private final Deque<Logged> requests = new ArrayDeque<>();
  private long bytes;

  /** A log of so many requests. */
  public RequestLog(int capacity) {
    this.capacity = capacity;
  }

  /** Whether anything is kept. */
  public boolean on() {
    return capacity > 0;
  }

  /** Keeps a request; the oldest go. */
  public void add(Logged request) {
    requests.addLast(request);
    bytes += request.body().length;
    while (requests.size() > capacity || bytes > MOST_BYTES) {
      bytes -= requests.removeFirst().body().length;
    }
  }

  /** What is kept, oldest first. */
  public List<Logged> all() {
    return List.copyOf(requests);
  }

  /** Forgets all. */
  public void clear() {
    requests.clear();
    bytes = 0;
  }
}

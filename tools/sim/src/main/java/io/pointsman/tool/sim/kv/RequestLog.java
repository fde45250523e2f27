package io.pointsman.tool.sim.kv;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;

/** The last requests as received, byte by byte. Bounded; 0 disables it. Owned by the event loop. */
public final class RequestLog {
  /** Maximum total bytes of bodies. */
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

    /** The method as received. */
    public String method() {
      return method;
    }

    /** The target as received. */
    public String path() {
      return path;
    }

    /** The headers in the order received. */
    public List<Map.Entry<String, String>> headers() {
      return headers;
    }

    /** The body's bytes; must not be modified. */
    public byte[] body() {
      return body;
    }
  }

  private final int capacity;
  private final Deque<Logged> requests = new ArrayDeque<>();
  private long bytes;

  /** Creates a log of at most {@code capacity} requests. */
  public RequestLog(int capacity) {
    this.capacity = capacity;
  }

  /** Returns true if requests are kept. */
  public boolean on() {
    return capacity > 0;
  }

  /** Adds a request and drops the oldest beyond the limits. */
  public void add(Logged request) {
    requests.addLast(request);
    bytes += request.body().length;
    while (requests.size() > capacity || bytes > MOST_BYTES) {
      bytes -= requests.removeFirst().body().length;
    }
  }

  /** The requests, oldest first. */
  public List<Logged> all() {
    return List.copyOf(requests);
  }

  public void clear() {
    requests.clear();
    bytes = 0;
  }
}

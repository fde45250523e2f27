package io.pointsman.tool.replay.trace;

import java.util.ArrayList;
import java.util.List;

/**
 * Requests in the order of arrival.
 *
 * @param name its name in tables
 * @param blockTokens prompt tokens per hash
 * @param requests at least one
 */
public record Trace(String name, int blockTokens, List<TraceRequest> requests) {
  public Trace {
    requests = List.copyOf(requests);
    if (requests.isEmpty()) {
      throw new IllegalArgumentException(name + ": no requests (expected: at least one)");
    }
  }

  /** Recorded requests per second, with dependent requests counted too. */
  public double rate() {
    double last = 0;
    for (TraceRequest request : requests) {
      last = request.follows() < 0 ? Math.max(last, request.at()) : last;
    }
    return last > 0 ? requests.size() / last * 1000 : 1;
  }

  /**
   * Returns the same requests at another rate. Only independent arrivals are moved, because the
   * duration of a tool call does not depend on the load.
   *
   * @param rate requests per second
   */
  public Trace atRate(double rate) {
    double factor = rate() / rate;
    List<TraceRequest> scaled = new ArrayList<>(requests.size());
    for (TraceRequest r : requests) {
      double at = r.follows() < 0 ? r.at() * factor : r.at();
      scaled.add(r.at(at));
    }
    return new Trace(name, blockTokens, scaled);
  }

  /** Returns the first {@code most} requests. */
  public Trace first(int most) {
    return new Trace(name, blockTokens, requests.subList(0, Math.min(most, requests.size())));
  }
}

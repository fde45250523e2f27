package io.pointsman.engine.deferral;

import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.policy.RoutingRequest;
import java.util.Comparator;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The queues of {@link Deferral}, one for each role and model. Clients choose model names freely,
 * so the number of empty queues is limited.
 *
 * <p>Changed under the lock of {@link Deferral}; any thread may look for a queue.
 */
final class DeferralLines {
  /** Maximum number of queues; exceeded only while all of them contain requests. */
  static final int MOST = 256;

  private final long longest;
  private final Map<LineKey, DeferralLine> lines = new ConcurrentHashMap<>();

  private record LineKey(Role role, String model) {
    static LineKey of(RoutingRequest request) {
      String model = request.model();
      return new LineKey(request.role(), model == null ? "" : model);
    }
  }

  /**
   * @param longest the longest deferral in nanoseconds
   */
  DeferralLines(long longest) {
    this.longest = longest;
  }

  /** Returns the queue of the request; null if there is none. */
  @Nullable DeferralLine find(RoutingRequest request) {
    return lines.isEmpty() ? null : lines.get(LineKey.of(request));
  }

  /** Returns the queue of the request; creates it if there is none. */
  DeferralLine of(RoutingRequest request, long now) {
    LineKey key = LineKey.of(request);
    DeferralLine line = lines.get(key);
    if (line == null) {
      if (lines.size() >= MOST) {
        forgetOne(now);
      }
      line = new DeferralLine(longest);
      lines.put(key, line);
    }
    return line;
  }

  /** Removes the empty queue with the lowest count. */
  private void forgetOne(long now) {
    lines.entrySet().stream()
        .filter(each -> each.getValue().size() == 0)
        .min(Comparator.comparingDouble(each -> each.getValue().vain(now)))
        .ifPresent(least -> lines.remove(least.getKey()));
  }

  Iterable<DeferralLine> all() {
    return lines.values();
  }

  /** Removes queues without information. */
  void sweep(long now) {
    lines.values().removeIf(line -> line.forgettable(now));
  }

  int count() {
    return lines.size();
  }
}

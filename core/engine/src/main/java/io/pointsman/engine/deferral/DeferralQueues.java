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
final class DeferralQueues {
  /** Maximum number of queues; exceeded only while all of them contain requests. */
  static final int MOST = 256;

  private final long longest;
  private final Map<QueueKey, DeferralQueue> queues = new ConcurrentHashMap<>();

  private record QueueKey(Role role, String model) {
    static QueueKey of(RoutingRequest request) {
      String model = request.model();
      return new QueueKey(request.role(), model == null ? "" : model);
    }
  }

  /**
   * @param longest the longest deferral in nanoseconds
   */
  DeferralQueues(long longest) {
    this.longest = longest;
  }

  /** Returns the queue of the request; null if there is none. */
  @Nullable DeferralQueue find(RoutingRequest request) {
    return queues.isEmpty() ? null : queues.get(QueueKey.of(request));
  }

  /** Returns the queue of the request; creates it if there is none. */
  DeferralQueue of(RoutingRequest request, long now) {
    QueueKey key = QueueKey.of(request);
    DeferralQueue queue = queues.get(key);
    if (queue == null) {
      if (queues.size() >= MOST) {
        forgetOne(now);
      }
      queue = new DeferralQueue(longest);
      queues.put(key, queue);
    }
    return queue;
  }

  /** Removes the empty queue with the lowest count. */
  private void forgetOne(long now) {
    queues.entrySet().stream()
        .filter(each -> each.getValue().size() == 0)
        .min(Comparator.comparingDouble(each -> each.getValue().vain(now)))
        .ifPresent(least -> queues.remove(least.getKey()));
  }

  Iterable<DeferralQueue> all() {
    return queues.values();
  }

  /** Removes queues without information. */
  void sweep(long now) {
    queues.values().removeIf(queue -> queue.forgettable(now));
  }

  int count() {
    return queues.size();
  }
}

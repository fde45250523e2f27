package io.pointsman.engine.holdback;

import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.policy.RoutingRequest;
import java.util.Comparator;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The lines of {@link HoldBack}, one for each role and model. Clients may choose names of models
 * freely, so only so many lines are kept that nobody waits in.
 *
 * <p>Changed under the lock of {@link HoldBack}; any thread may look for a line.
 */
final class Lines {
  /** A line may be made beyond these while all of them are waited in. */
  static final int MOST = 256;

  private final long longest;
  private final Map<Key, Line> lines = new ConcurrentHashMap<>();

  private record Key(Role role, String model) {
    static Key of(RoutingRequest request) {
      String model = request.model();
      return new Key(request.role(), model == null ? "" : model);
    }
  }

  /**
   * @param longest nanoseconds for which a request is held back at most
   */
  Lines(long longest) {
    this.longest = longest;
  }

  /** The line that the request belongs in; null if there is none. */
  @Nullable Line find(RoutingRequest request) {
    return lines.isEmpty() ? null : lines.get(Key.of(request));
  }

  /** The same, made if there is none. */
  Line of(RoutingRequest request, long now) {
    Key key = Key.of(request);
    Line line = lines.get(key);
    if (line == null) {
      if (lines.size() >= MOST) {
        forgetOne(now);
      }
      line = new Line(longest);
      lines.put(key, line);
    }
    return line;
  }

  /** Of those that nobody waits in, the one that tells least. */
  private void forgetOne(long now) {
    lines.entrySet().stream()
        .filter(each -> each.getValue().size() == 0)
        .min(Comparator.comparingDouble(each -> each.getValue().vain(now)))
        .ifPresent(least -> lines.remove(least.getKey()));
  }

  Iterable<Line> all() {
    return lines.values();
  }

  /** Forgets lines that tell nothing. */
  void sweep(long now) {
    lines.values().removeIf(line -> line.forgettable(now));
  }

  int count() {
    return lines.size();
  }
}

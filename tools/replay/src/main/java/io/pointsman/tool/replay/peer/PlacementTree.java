package io.pointsman.tool.replay.peer;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.prefix.PrefixBlocks;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;

/**
 * The prefixes placed on each worker, unbounded and without evictions: the state of routers without
 * information on engines' caches.
 */
final class PlacementTree {
  private final Map<Long, Set<Worker>> holders = new HashMap<>();
  private final Map<Worker, Long> tokens = new HashMap<>();

  /** The longest known prefix. */
  record Match(double ratio, Set<Worker> workers) {}

  Match match(PrefixBlocks prefix) {
    int blocks = 0;
    Set<Worker> deepest = Set.of();
    while (blocks < prefix.count()) {
      Set<Worker> next = holders.get(prefix.hashes()[blocks]);
      if (next == null || next.isEmpty()) {
        break;
      }
      deepest = next;
      blocks++;
    }
    return new Match(prefix.ratio(blocks), deepest);
  }

  void insert(PrefixBlocks prefix, Worker worker) {
    long fresh = 0;
    for (int i = 0; i < prefix.count(); i++) {
      Set<Worker> owners = holders.computeIfAbsent(prefix.hashes()[i], _ -> new LinkedHashSet<>(2));
      fresh += owners.add(worker) ? prefix.blockLength() : 0;
    }
    tokens.merge(worker, fresh, Long::sum);
  }

  /** Tokens placed on a worker, with common prefixes counted once. */
  long tokens(Worker worker) {
    return tokens.getOrDefault(worker, 0L);
  }

  void forget(Worker worker) {
    holders.values().forEach(owners -> owners.remove(worker));
    tokens.remove(worker);
  }
}

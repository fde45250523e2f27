package io.pointsman.proxy.admission;

import io.pointsman.proxy.admission.Admission.Waiter;
import io.pointsman.proxy.identity.Priority;
import java.util.ArrayDeque;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.SequencedSet;
import org.jspecify.annotations.Nullable;

/**
 * Order of waiting requests: by priority, and among equal priorities fair to clients. Fairness is
 * deficit round robin over clients, in tokens. A client in its turn may send while its credit is
 * positive. A request costs the estimated tokens of its prompt at its admission. At its end the
 * tokens of its prompt and answer replace the estimate. Requests of one client and priority keep
 * their order.
 *
 * <p>A lower priority gets one of {@value #TURNS} admissions while higher ones wait.
 *
 * <p>Credits begin anew each time the queue is no longer empty: use without a queue costs others
 * nothing. The queue remembers clients that have requests here or in progress, and no others. Not
 * thread-safe.
 */
final class FairQueue {
  /** Tokens that each client gets in a round. */
  static final long QUANTUM = 1024;

  /** Of this many admissions, a waiting lower priority gets one. */
  static final int TURNS = 16;

  /** Least tokens of a request: also one without known text takes a turn. */
  static final long LEAST = 64;

  private static final Priority[] FROM_HIGHEST = {Priority.HIGH, Priority.NORMAL, Priority.LOW};

  private final Map<String, QueuedClient> clients = new HashMap<>();
  private final Map<Priority, Level> levels = new EnumMap<>(Priority.class);
  private int size;

  /** Number of times that the queue was empty and a request came. */
  private long period;

  /** A client with requests here or in progress. */
  private static final class QueuedClient {
    final String name;
    final Map<Priority, SequencedSet<Waiter>> waiting = new EnumMap<>(Priority.class);

    /** Tokens that the client may still use in this round; negative after expensive requests. */
    long credit;

    int inProgress;

    /** Period of the credit. */
    long period;

    QueuedClient(String name) {
      this.name = name;
    }

    SequencedSet<Waiter> at(Priority priority) {
      return waiting.computeIfAbsent(priority, _ -> new LinkedHashSet<>());
    }

    int waitsAt(Priority priority) {
      SequencedSet<Waiter> there = waiting.get(priority);
      return there == null ? 0 : there.size();
    }

    boolean idle() {
      return inProgress == 0 && waiting.values().stream().allMatch(SequencedSet::isEmpty);
    }
  }

  /** The clients that wait with one priority, in the order of their turns. */
  private static final class Level {
    final ArrayDeque<QueuedClient> turns = new ArrayDeque<>();

    /** Admissions of higher priorities since the last one here. */
    int passed;
  }

  private Level level(Priority priority) {
    return levels.computeIfAbsent(priority, _ -> new Level());
  }

  int size() {
    return size;
  }

  boolean isEmpty() {
    return size == 0;
  }

  private QueuedClient client(QueuedRequest request) {
    QueuedClient client = clients.computeIfAbsent(request.client(), QueuedClient::new);
    if (client.period != period) {
      client.period = period;
      client.credit = 0;
    }
    return client;
  }

  private static long cost(long tokens) {
    return Math.max(LEAST, tokens);
  }

  /** Adds a request at the end of its client's requests. */
  void add(Waiter waiter) {
    QueuedRequest request = waiter.request();
    period += size == 0 ? 1 : 0;
    QueuedClient client = client(request);
    if (client.waitsAt(request.priority()) == 0) {
      level(request.priority()).turns.add(client);
    }
    client.at(request.priority()).add(waiter);
    size++;
  }

  /** Removes a request; false if it is not here. */
  boolean remove(Waiter waiter) {
    QueuedRequest request = waiter.request();
    QueuedClient client = clients.get(request.client());
    if (client == null || !client.at(request.priority()).remove(waiter)) {
      return false;
    }
    removed(client, request.priority());
    return true;
  }

  private void removed(QueuedClient client, Priority priority) {
    size--;
    if (client.waitsAt(priority) == 0) {
      level(priority).turns.remove(client);
      client.credit = Math.min(client.credit, 0);
    }
    forgetIdle(client);
  }

  private void forgetIdle(QueuedClient client) {
    if (client.idle()) {
      clients.remove(client.name);
    }
  }

  /** True if a request of this priority waits. */
  boolean waits(Priority priority) {
    return !level(priority).turns.isEmpty();
  }

  /**
   * Removes the next request in the order of turns, and counts it as in progress.
   *
   * @param least lowest priority that has turns
   * @return null if none waits
   */
  @Nullable Waiter next(Priority least) {
    Priority priority = turn(least);
    if (priority == null) {
      return null;
    }
    QueuedClient client = turnOf(level(priority).turns);
    Waiter waiter = client.at(priority).getFirst();
    begin(waiter.request());
    remove(waiter);
    if (client.credit <= 0 && client.waitsAt(priority) > 0) {
      level(priority).turns.remove(client);
      level(priority).turns.add(client);
    }
    return waiter;
  }

  /** The priority that has the turn. */
  private @Nullable Priority turn(Priority least) {
    Priority chosen = null;
    for (Priority each : FROM_HIGHEST) {
      boolean may = each.compareTo(least) >= 0 && waits(each);
      if (may && (chosen == null || level(each).passed >= TURNS - 1)) {
        chosen = each;
      }
    }
    if (chosen != null) {
      pass(chosen);
    }
    return chosen;
  }

  /** Counts an admission of a priority against the lower ones that wait. */
  private void pass(Priority chosen) {
    level(chosen).passed = 0;
    for (Priority each : FROM_HIGHEST) {
      if (each.compareTo(chosen) < 0) {
        Level lower = level(each);
        lower.passed = lower.turns.isEmpty() ? 0 : lower.passed + 1;
      }
    }
  }

  /** The first client with credit, after as many rounds as it takes. */
  private static QueuedClient turnOf(ArrayDeque<QueuedClient> turns) {
    long rounds = Long.MAX_VALUE;
    for (QueuedClient each : turns) {
      if (each.credit > 0) {
        return each;
      }
      rounds = Math.min(rounds, -each.credit / QUANTUM + 1);
    }
    for (QueuedClient each : turns) {
      each.credit += rounds * QUANTUM;
    }
    for (QueuedClient each : turns) {
      if (each.credit > 0) {
        return each;
      }
    }
    throw new IllegalStateException("no client waits");
  }

  /** Counts a request as in progress that did not wait. */
  void begin(QueuedRequest request) {
    QueuedClient client = client(request);
    client.inProgress++;
    client.credit -= cost(request.tokens());
  }

  /**
   * Ends a request in progress.
   *
   * @param tokens tokens of its prompt and its answer
   */
  void end(QueuedRequest request, long tokens) {
    if (clients.containsKey(request.client())) {
      QueuedClient client = client(request);
      client.inProgress--;
      client.credit -= cost(tokens) - cost(request.tokens());
      forgetIdle(client);
    }
  }

  /**
   * Removes the request that gives way to another one: the last request of the client with the most
   * requests of the lowest priority.
   *
   * @return null if the other request has to give way
   */
  @Nullable Waiter giveWay(QueuedRequest to) {
    Priority lowest = null;
    for (Priority each : FROM_HIGHEST) {
      lowest = level(each).turns.isEmpty() ? lowest : each;
    }
    if (lowest == null || to.priority().compareTo(lowest) < 0) {
      return null;
    }
    QueuedClient most = level(lowest).turns.getFirst();
    for (QueuedClient each : level(lowest).turns) {
      most = each.waitsAt(lowest) > most.waitsAt(lowest) ? each : most;
    }
    if (lowest == to.priority()) {
      QueuedClient own = clients.get(to.client());
      int owned = own == null ? 0 : own.waitsAt(lowest);
      if (owned + 1 >= most.waitsAt(lowest)) {
        return null;
      }
    }
    Waiter last = most.at(lowest).getLast();
    remove(last);
    return last;
  }

  /** Number of clients that it remembers. */
  int clients() {
    return clients.size();
  }
}

package io.pointsman.pd.execution.waiting;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.fleet.Role;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * The requests of two workers that wait for a slot, in one queue per model and role. Each queue is
 * served in order of arrival. A request that needs another role changes the queue and keeps its
 * arrival number. The total number of requests is bounded. Thread-safe.
 */
public final class SlotQueues {
  private static final Role[] ROLES = Role.values();
  private static final Comparator<Position> BY_ARRIVAL =
      Comparator.comparingLong(position -> position.number);

  /**
   * Key of a queue.
   *
   * @param owner model of the requests, or an object for one request that waits alone
   * @param missing role without a free slot
   */
  public record SlotKey(Object owner, Role missing) {
    public SlotKey {
      requireNonNull(owner, "owner");
      requireNonNull(missing, "missing");
    }
  }

  /** Position of a request in a queue. */
  public static final class Position {
    private final long number;
    private final Runnable turn;

    /** Guarded by the queues. */
    private SlotKey key;

    private Position(long number, SlotKey key, Runnable turn) {
      this.number = number;
      this.key = key;
      this.turn = turn;
    }
  }

  /** Maximum number of waiting requests. Guarded by this. */
  private int most;

  /** No queue is empty. Guarded by this. */
  private final Map<SlotKey, SortedSet<Position>> queues = new HashMap<>();

  /** Written under the lock. A request that finds no other waiting takes no lock. */
  private volatile int waiting;

  private long numbers;

  public SlotQueues(int most) {
    this.most = most;
  }

  /** Admits at most this many further requests. Waiting requests stay. */
  public synchronized void limit(int most) {
    this.most = most;
  }

  /**
   * Adds a request at the end of a queue.
   *
   * @param turn called when the request becomes the first, on the thread of the caller that leaves
   *     or changes the queue
   * @return null if the maximum is reached
   */
  public synchronized @Nullable Position enter(SlotKey key, Runnable turn) {
    if (waiting >= most) {
      return null;
    }
    waiting = waiting + 1;
    Position position = new Position(numbers++, key, turn);
    positions(key).add(position);
    return position;
  }

  private SortedSet<Position> positions(SlotKey key) {
    return queues.computeIfAbsent(key, _ -> new TreeSet<>(BY_ARRIVAL));
  }

  /**
   * Moves a request to another queue. It keeps its arrival number.
   *
   * <p>A request that waits for prefill stays if earlier requests wait for decode. All requests
   * behind it need decode too, so it blocks none of them, and it would soon return.
   */
  public void change(Position position, SlotKey key) {
    Position next = changed(position, key);
    if (next != null) {
      next.turn.run();
    }
  }

  private synchronized @Nullable Position changed(Position position, SlotKey key) {
    boolean stays = position.key.missing == Role.PREFILL && behind(key, position);
    SortedSet<Position> left = queues.get(position.key);
    if (stays || position.key.equals(key) || left == null || !left.contains(position)) {
      return null;
    }
    Position next = removed(position, left);
    position.key = key;
    positions(key).add(position);
    return next;
  }

  /** Removes a request. The next first request of its queue gets its turn. */
  public void leave(Position position) {
    Position next = left(position);
    if (next != null) {
      next.turn.run();
    }
  }

  private synchronized @Nullable Position left(Position position) {
    SortedSet<Position> queue = queues.get(position.key);
    if (queue == null || !queue.contains(position)) {
      return null;
    }
    waiting = waiting - 1;
    return removed(position, queue);
  }

  /** The request that becomes the first of the queue; null if there is none. */
  private @Nullable Position removed(Position position, SortedSet<Position> queue) {
    boolean first = queue.first() == position;
    queue.remove(position);
    if (queue.isEmpty()) {
      queues.remove(position.key);
      return null;
    }
    return first ? queue.first() : null;
  }

  /**
   * The roles that earlier requests wait for.
   *
   * @param position its own position; null if there is none yet, and then all others are earlier
   */
  public Set<Role> before(Object owner, @Nullable Position position) {
    return waiting == 0 ? Set.of() : search(owner, position);
  }

  private synchronized Set<Role> search(Object owner, @Nullable Position position) {
    Set<Role> roles = EnumSet.noneOf(Role.class);
    for (Role role : ROLES) {
      if (behind(new SlotKey(owner, role), position)) {
        roles.add(role);
      }
    }
    return roles;
  }

  private synchronized boolean behind(SlotKey key, @Nullable Position position) {
    SortedSet<Position> queue = queues.get(key);
    return queue != null && (position == null || queue.first().number < position.number);
  }

  /** True if the request is the first of its queue. */
  public synchronized boolean first(Position position) {
    SortedSet<Position> queue = queues.get(position.key);
    return queue != null && queue.first() == position;
  }

  /** Number of waiting requests. */
  public int waiting() {
    return waiting;
  }
}

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
 * The requests that wait for a slot on workers, in one queue per model and role. Each queue is
 * served in order of arrival. A request that needs another role changes the queue and keeps its
 * arrival number. The total number of requests is bounded. Thread-safe.
 */
public final class WaitingRoom {
  private static final Role[] ROLES = Role.values();
  private static final Comparator<Seat> BY_COMING = Comparator.comparingLong(seat -> seat.number);

  /**
   * Key of a queue.
   *
   * @param owner model of the requests, or an object for one request that waits alone
   * @param missing role without a free slot
   */
  public record SlotLine(Object owner, Role missing) {
    public SlotLine {
      requireNonNull(owner, "owner");
      requireNonNull(missing, "missing");
    }
  }

  /** Position of a request in a queue. */
  public static final class Seat {
    private final long number;
    private final Runnable turn;

    /** Guarded by the room. */
    private SlotLine line;

    private Seat(long number, SlotLine line, Runnable turn) {
      this.number = number;
      this.line = line;
      this.turn = turn;
    }
  }

  /** Maximum number of waiting requests. Guarded by this. */
  private int most;

  /** No queue is empty. Guarded by this. */
  private final Map<SlotLine, SortedSet<Seat>> lines = new HashMap<>();

  /** Written under the lock. A request that finds no other waiting takes no lock. */
  private volatile int waiting;

  private long numbers;

  public WaitingRoom(int most) {
    this.most = most;
  }

  /** Admits at most this many further requests; those that wait already stay. */
  public synchronized void limit(int most) {
    this.most = most;
  }

  /**
   * Adds a request at the end of a queue.
   *
   * @param turn called when the seat becomes the first, on the thread of the caller that leaves or
   *     changes the queue
   * @return null if the maximum is reached
   */
  public synchronized @Nullable Seat enter(SlotLine line, Runnable turn) {
    if (waiting >= most) {
      return null;
    }
    waiting = waiting + 1;
    Seat seat = new Seat(numbers++, line, turn);
    seats(line).add(seat);
    return seat;
  }

  private SortedSet<Seat> seats(SlotLine line) {
    return lines.computeIfAbsent(line, _ -> new TreeSet<>(BY_COMING));
  }

  /**
   * Moves a seat to another queue. It keeps its arrival number.
   *
   * <p>A seat that waits for prefill stays if earlier requests wait for decode. All requests behind
   * it need decode too, so it blocks none of them, and it would soon return.
   */
  public void change(Seat seat, SlotLine line) {
    Seat next = changed(seat, line);
    if (next != null) {
      next.turn.run();
    }
  }

  private synchronized @Nullable Seat changed(Seat seat, SlotLine line) {
    boolean stays = seat.line.missing == Role.PREFILL && behind(line, seat);
    SortedSet<Seat> left = lines.get(seat.line);
    if (stays || seat.line.equals(line) || left == null || !left.contains(seat)) {
      return null;
    }
    Seat next = removed(seat, left);
    seat.line = line;
    seats(line).add(seat);
    return next;
  }

  /** Removes a seat. The next first seat of its queue gets its turn. */
  public void leave(Seat seat) {
    Seat next = left(seat);
    if (next != null) {
      next.turn.run();
    }
  }

  private synchronized @Nullable Seat left(Seat seat) {
    SortedSet<Seat> line = lines.get(seat.line);
    if (line == null || !line.contains(seat)) {
      return null;
    }
    waiting = waiting - 1;
    return removed(seat, line);
  }

  /** The seat that becomes the first of the queue; null if there is none. */
  private @Nullable Seat removed(Seat seat, SortedSet<Seat> line) {
    boolean first = line.first() == seat;
    line.remove(seat);
    if (line.isEmpty()) {
      lines.remove(seat.line);
      return null;
    }
    return first ? line.first() : null;
  }

  /**
   * The roles that earlier requests wait for.
   *
   * @param seat own seat; null if there is none yet, and then all others are earlier
   */
  public Set<Role> before(Object owner, @Nullable Seat seat) {
    return waiting == 0 ? Set.of() : search(owner, seat);
  }

  private synchronized Set<Role> search(Object owner, @Nullable Seat seat) {
    Set<Role> roles = EnumSet.noneOf(Role.class);
    for (Role role : ROLES) {
      if (behind(new SlotLine(owner, role), seat)) {
        roles.add(role);
      }
    }
    return roles;
  }

  private synchronized boolean behind(SlotLine line, @Nullable Seat seat) {
    SortedSet<Seat> seats = lines.get(line);
    return seats != null && (seat == null || seats.first().number < seat.number);
  }

  /** True if the seat is the first of its queue. */
  public synchronized boolean first(Seat seat) {
    SortedSet<Seat> line = lines.get(seat.line);
    return line != null && line.first() == seat;
  }

  /** Number of waiting requests. */
  public int waiting() {
    return waiting;
  }
}

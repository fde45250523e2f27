package io.pointsman.proxy.split.waiting;

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
 * The requests that wait for a place on workers, in a line for each model and role: in each, who
 * came first is served first. A request that wants another role after all changes the line and
 * stands there as if it had come to that line at once. Bounded over all lines. Safe for any number
 * of threads.
 */
public final class WaitingRoom {
  private static final Role[] ROLES = Role.values();
  private static final Comparator<Seat> BY_COMING = Comparator.comparingLong(seat -> seat.number);

  /**
   * What requests wait for in the order of their coming.
   *
   * @param owner the model that they ask for, or what stands for one request that waits by itself
   * @param missing the role that has no place for them
   */
  public record Line(Object owner, Role missing) {
    public Line {
      requireNonNull(owner, "owner");
      requireNonNull(missing, "missing");
    }
  }

  /** A place in a line. */
  public static final class Seat {
    private final long number;
    private final Runnable turn;

    /** Guarded by the room. */
    private Line line;

    private Seat(long number, Line line, Runnable turn) {
      this.number = number;
      this.line = line;
      this.turn = turn;
    }
  }

  private final int most;

  /** None is empty; guarded by this. */
  private final Map<Line, SortedSet<Seat>> lines = new HashMap<>();

  /** Written under the lock; requests that find nobody waiting take none. */
  private volatile int waiting;

  private long numbers;

  public WaitingRoom(int most) {
    this.most = most;
  }

  /**
   * Takes the last seat of a line.
   *
   * @param turn called by whoever leaves or changes the line, on its thread, when the seat has
   *     become the first
   * @return null if there is no seat left
   */
  public synchronized @Nullable Seat enter(Line line, Runnable turn) {
    if (waiting >= most) {
      return null;
    }
    waiting = waiting + 1;
    Seat seat = new Seat(numbers++, line, turn);
    seats(line).add(seat);
    return seat;
  }

  private SortedSet<Seat> seats(Line line) {
    return lines.computeIfAbsent(line, _ -> new TreeSet<>(BY_COMING));
  }

  /**
   * Changes the line, but not who came before whom.
   *
   * <p>Who waits for prefill stays in that line while others wait for decode that came before: all
   * behind it want decode too, so that it stands in nobody's way, and would soon be back.
   */
  public void change(Seat seat, Line line) {
    Seat next = changed(seat, line);
    if (next != null) {
      next.turn.run();
    }
  }

  private synchronized @Nullable Seat changed(Seat seat, Line line) {
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

  /** Gives a seat up; whoever is the first then has its turn. */
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

  /** Who has become the first of the line by that; null if nobody. */
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
   * The roles that others wait for who came before.
   *
   * @param seat the own one; null if there is none yet, so that all others came before
   */
  public Set<Role> before(Object owner, @Nullable Seat seat) {
    return waiting == 0 ? Set.of() : search(owner, seat);
  }

  private synchronized Set<Role> search(Object owner, @Nullable Seat seat) {
    Set<Role> roles = EnumSet.noneOf(Role.class);
    for (Role role : ROLES) {
      if (behind(new Line(owner, role), seat)) {
        roles.add(role);
      }
    }
    return roles;
  }

  private synchronized boolean behind(Line line, @Nullable Seat seat) {
    SortedSet<Seat> seats = lines.get(line);
    return seats != null && (seat == null || seats.first().number < seat.number);
  }

  /** Whether a seat is the first of its line. */
  public synchronized boolean first(Seat seat) {
    SortedSet<Seat> line = lines.get(seat.line);
    return line != null && line.first() == seat;
  }

  /** Requests that wait. */
  public int waiting() {
    return waiting;
  }
}

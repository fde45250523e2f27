package io.pointsman.proxy.split;

import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The requests that wait for a place on workers, in lines: who came first is served first. Bounded
 * over all lines. Safe for any number of threads.
 */
public final class WaitingRoom {
  /** A place in a line. */
  static final class Seat {
    private final Object line;
    private final Runnable turn;

    private Seat(Object line, Runnable turn) {
      this.line = line;
      this.turn = turn;
    }
  }

  private final int most;

  /** By line, none empty; guarded by this. */
  private final Map<Object, LinkedHashSet<Seat>> lines = new HashMap<>();

  /** Written under the lock; requests that find nobody waiting take none. */
  private volatile int waiting;

  public WaitingRoom(int most) {
    this.most = most;
  }

  /**
   * Takes the last seat of a line.
   *
   * @param turn called by whoever leaves, on its thread, when the seat has become the first
   * @return null if there is no seat left
   */
  synchronized @Nullable Seat enter(Object line, Runnable turn) {
    if (waiting >= most) {
      return null;
    }
    waiting = waiting + 1;
    Seat seat = new Seat(line, turn);
    lines.computeIfAbsent(line, _ -> new LinkedHashSet<>()).add(seat);
    return seat;
  }

  /** Gives a seat up; whoever is the first then has its turn. */
  void leave(Seat seat) {
    Seat next = remove(seat);
    if (next != null) {
      next.turn.run();
    }
  }

  private synchronized @Nullable Seat remove(Seat seat) {
    LinkedHashSet<Seat> line = lines.get(seat.line);
    if (line == null || !line.contains(seat)) {
      return null;
    }
    boolean first = line.getFirst() == seat;
    line.remove(seat);
    waiting = waiting - 1;
    if (line.isEmpty()) {
      lines.remove(seat.line);
      return null;
    }
    return first ? line.getFirst() : null;
  }

  /** Whether somebody waits in a line. */
  boolean occupied(Object line) {
    return waiting > 0 && contains(line);
  }

  private synchronized boolean contains(Object line) {
    return lines.containsKey(line);
  }

  synchronized boolean first(Seat seat) {
    LinkedHashSet<Seat> line = lines.get(seat.line);
    return line != null && line.getFirst() == seat;
  }

  /** Requests that wait. */
  public int waiting() {
    return waiting;
  }
}

package io.pointsman.engine.fleet;

import io.pointsman.engine.fleet.LoadBoard.Mark;

/**
 * The cell of one worker on the {@link LoadBoard}, while the worker owns it.
 *
 * <p>A stale picker, a prober or a late request may still reference a worker that has left. Its
 * slot may then belong to another worker. Two rules protect the other worker's cell. Marks are set
 * under this object's lock, and never after the slot is released. A lease first increments the
 * count and then checks for departure, while the fleet first records the departure and then reads
 * the count. At least one of them sees the other.
 *
 * <p>The states of a worker have locks of their own. They set marks while they hold them; this
 * object's lock is the innermost one.
 */
final class WorkerCell {
  private final LoadBoard board;
  private final int slot;
  private volatile boolean left;
  private volatile boolean released;

  WorkerCell(LoadBoard board, int slot) {
    this.board = board;
    this.slot = slot;
  }

  int slot() {
    return slot;
  }

  /** The count and the marks. */
  int value() {
    return board.cell(slot);
  }

  boolean has(Mark mark) {
    return LoadBoard.has(value(), mark);
  }

  /** Returns true if the worker is in the fleet and has the mark. */
  boolean shows(Mark mark) {
    return !left && has(mark);
  }

  int inFlight() {
    return released ? 0 : board.inFlight(slot);
  }

  /**
   * Increments the count if the cell still equals {@code expected}.
   *
   * @return the cell's previous value; {@code expected} if the request counts
   */
  int enterIf(int expected) {
    return board.enterIf(slot, expected);
  }

  /** Decrements the count. */
  void exit() {
    board.leave(slot);
  }

  synchronized void mark(Mark mark, boolean on) {
    if (released || (left && mark == Mark.DRAINING)) {
      return;
    }
    if (on) {
      board.mark(slot, mark);
    } else {
      board.unmark(slot, mark);
    }
  }

  /** Returns true if the worker has left the fleet. */
  boolean left() {
    return left;
  }

  /** Records that the worker leaves the fleet. */
  synchronized void leave() {
    mark(Mark.DRAINING, true);
    left = true;
  }

  /**
   * Takes the departure back, unless the cell belongs to nobody any longer.
   *
   * @return false if the cell was given up
   */
  synchronized boolean rejoin() {
    if (released) {
      return false;
    }
    left = false;
    mark(Mark.DRAINING, false);
    return true;
  }

  /**
   * Gives the cell up if the worker has left and its last lease is settled.
   *
   * @return true if the cell is free for another worker
   */
  synchronized boolean release() {
    if (!left || board.inFlight(slot) > 0) {
      return false;
    }
    released = true;
    board.unmarkAll(slot);
    return true;
  }
}

package io.pointsman.engine.fleet;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The load and state marks of all workers, one int cell each. The low 20 bits count requests in
 * flight, and the bits above are marks. Dense cells let a policy read thousands of workers in a few
 * cache lines. One read returns load and eligibility.
 *
 * <p>Any thread may read and write any cell. A worker owns its cell from registration until it has
 * left the fleet and its last lease is settled.
 */
final class LoadBoard {
  /**
   * Maximum load. A larger cell has marks. {@link Eligibility} selects the workers for requests.
   */
  static final int MAX_IN_FLIGHT = (1 << 20) - 1;

  /** Marks that exclude a worker unconditionally. */
  private static final int OUT =
      Mark.UNHEALTHY.bit | Mark.DRAINING.bit | Mark.ASLEEP.bit | Mark.CORDONED.bit;

  /** Marks that depend on time; the worker must be queried. */
  private static final int TIMED =
      Mark.BREAKER.bit | Mark.RESTING.bit | Mark.STALLED.bit | Mark.CLOSING.bit;

  private static final VarHandle CELL = MethodHandles.arrayElementVarHandle(int[].class);

  /**
   * Written atomically. Scans read it plainly, because slightly old values suffice and only plain
   * reads are vectorised (docs/evidence/benchmarks.md, "Decision engine").
   */
  private final int[] cells;

  LoadBoard(int capacity) {
    cells = new int[capacity];
  }

  int cell(int slot) {
    return (int) CELL.getOpaque(cells, slot);
  }

  int inFlight(int slot) {
    return (int) CELL.getVolatile(cells, slot) & MAX_IN_FLIGHT;
  }

  /**
   * Increments the cell if it still equals {@code expected}.
   *
   * @return the cell's previous value; {@code expected} if the request counts
   */
  int enterIf(int slot, int expected) {
    return (int) CELL.compareAndExchange(cells, slot, expected, expected + 1);
  }

  void leave(int slot) {
    int _ = (int) CELL.getAndAdd(cells, slot, -1);
  }

  /**
   * Clears all marks for the cell's next owner. The count stays: a stale picker may have
   * incremented it for a moment and must find its one again.
   */
  void unmarkAll(int slot) {
    int _ = (int) CELL.getAndBitwiseAnd(cells, slot, MAX_IN_FLIGHT);
  }

  void mark(int slot, Mark mark) {
    int _ = (int) CELL.getAndBitwiseOr(cells, slot, mark.bit);
  }

  void unmark(int slot, Mark mark) {
    int _ = (int) CELL.getAndBitwiseAnd(cells, slot, ~mark.bit);
  }

  static boolean has(int cell, Mark mark) {
    return (cell & mark.bit) != 0;
  }

  static int without(int cell, Mark mark) {
    return cell & ~mark.bit;
  }

  /** Returns true if {@code cell} has a mark that excludes its worker unconditionally. */
  static boolean out(int cell) {
    return (cell & OUT) != 0;
  }

  /** Returns true if only the worker can determine its eligibility. */
  static boolean timed(int cell) {
    return (cell & TIMED) != 0;
  }

  /** The least and the greatest of {@code count} cells from {@code first} on, including marks. */
  LoadRange range(int first, int count) {
    int least = Integer.MAX_VALUE;
    int most = Integer.MIN_VALUE;
    int end = first + count;
    for (int i = first; i < end; i++) {
      int cell = cells[i];
      least = Math.min(least, cell);
      most = Math.max(most, cell);
    }
    return new LoadRange(least, most);
  }

  /** The least and the greatest of the cells of {@code slots}, including marks. */
  LoadRange range(int[] slots) {
    int least = Integer.MAX_VALUE;
    int most = Integer.MIN_VALUE;
    for (int slot : slots) {
      int cell = cells[slot];
      least = Math.min(least, cell);
      most = Math.max(most, cell);
    }
    return new LoadRange(least, most);
  }

  /**
   * Counts the cells equal to {@code load} among {@code count} cells from {@code first} on. Returns
   * -1 if any cell has a mark, because its load alone does not determine eligibility.
   */
  int countEqual(int load, int first, int count) {
    int found = 0;
    int seen = 0;
    int end = first + count;
    for (int i = first; i < end; i++) {
      int cell = cells[i];
      found += cell == load ? 1 : 0;
      seen |= cell;
    }
    return seen <= MAX_IN_FLIGHT ? found : -1;
  }

  /** Counts the cells equal to {@code load} among {@code slots}; -1 if any cell has a mark. */
  int countEqual(int load, int[] slots) {
    int found = 0;
    int seen = 0;
    for (int slot : slots) {
      int cell = cells[slot];
      found += cell == load ? 1 : 0;
      seen |= cell;
    }
    return seen <= MAX_IN_FLIGHT ? found : -1;
  }

  /** A condition that requires a closer look before the worker is chosen. */
  enum Mark {
    /** Its probes fail, or it has not been probed yet. */
    UNHEALTHY(20),
    /** Its circuit breaker is not closed. */
    BREAKER(21),
    /** It accepts no new requests. */
    DRAINING(22),
    /** It reported that it is busy and rests until a given time. */
    RESTING(23),
    /** It has shown no progress for too long. Single trial requests are admitted. */
    STALLED(24),
    /** It has a limit of requests in flight. */
    LIMITED(25),
    /** It sleeps or is paused. */
    ASLEEP(26),
    /** Its engine shuts down. */
    CLOSING(27),
    /** An operator excludes it from new requests. */
    CORDONED(28),
    /** Its load in comparisons differs from its requests in flight. */
    ADJUSTED(29);

    private final int bit;

    Mark(int shift) {
      bit = 1 << shift;
    }
  }
}

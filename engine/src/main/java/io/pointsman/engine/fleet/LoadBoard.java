package io.pointsman.engine.fleet;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * One cell per worker: its requests in flight in the low bits, marks that need a closer look in the
 * high bits. Dense, so that a policy can read the load and the eligibility of thousands of workers
 * in a few cache lines; one read answers both.
 *
 * <p>Any thread may read and write any cell. A worker owns its cell from registration until it has
 * left the fleet and its last lease is settled.
 */
final class LoadBoard {
  /** A cell at or below this value is an eligible worker, and the value is its load. */
  static final int MAX_IN_FLIGHT = (1 << 20) - 1;

  /** Marks of a worker that gets no request, whatever else is known of it. */
  private static final int OUT = Mark.UNHEALTHY.bit | Mark.DRAINING.bit | Mark.STALLED.bit;

  /** Marks whose meaning depends on time, so that the worker must be asked. */
  private static final int TIMED = Mark.BREAKER.bit | Mark.RESTING.bit;

  private static final VarHandle CELL = MethodHandles.arrayElementVarHandle(int[].class);

  /**
   * Written atomically. Scans read it plainly: a value a moment old is as good as any, and only
   * plain reads are vectorised (docs/evidence/benchmarks.md, "Decision engine").
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
   * Counts one request in if the cell is still {@code expected}.
   *
   * @return the cell as it was found: {@code expected} if the request counts
   */
  int enterIf(int slot, int expected) {
    return (int) CELL.compareAndExchange(cells, slot, expected, expected + 1);
  }

  void leave(int slot) {
    int _ = (int) CELL.getAndAdd(cells, slot, -1);
  }

  /**
   * Takes all marks off, for the cell's next owner. The count stays: no lease is left in it, but
   * the attempt of a stale picker may count for a moment and must find its one again.
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

  /** Whether {@code cell} has a mark that rules its worker out without a further question. */
  static boolean out(int cell) {
    return (cell & OUT) != 0;
  }

  /** Whether only the worker itself can say if it is eligible. */
  static boolean timed(int cell) {
    return (cell & TIMED) != 0;
  }

  /** The least and the greatest of {@code count} cells from {@code first} on, marks included. */
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

  /** The least and the greatest of the cells of {@code slots}, marks included. */
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
   * How many of {@code count} cells from {@code first} on equal {@code load}; -1 if any of them is
   * marked, so that its load is not all that counts.
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

  /** The same over the cells of {@code slots}. */
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

  /** Why a worker needs a closer look before it is chosen. */
  enum Mark {
    /** Its probes fail, or it has not been probed yet. */
    UNHEALTHY(20),
    /** Its circuit breaker is not closed. */
    BREAKER(21),
    /** It is to serve no new requests. */
    DRAINING(22),
    /** It said that it is busy and rests until a given time. */
    RESTING(23),
    /** It has requests in flight and shows no progress. */
    STALLED(24),
    /** It has a limit of requests in flight. */
    LIMITED(25);

    private final int bit;

    Mark(int shift) {
      bit = 1 << shift;
    }
  }
}

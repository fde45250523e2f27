package io.pointsman.engine.fleet;

import io.pointsman.engine.env.RandomSource;
import java.util.Arrays;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The workers that serve one model in one role, in a fixed order. Immutable; the loads and
 * eligibility that it returns are live.
 */
public final class Pool {
  /** Returned instead of a load; greater than any load. */
  public static final int NOT_ELIGIBLE = Integer.MAX_VALUE;

  /** Returned if the pool has no such worker. */
  public static final int ABSENT = -1;

  /** Random draws that may hit an ineligible worker before the pool counts all eligible ones. */
  private static final int QUICK_ROLLS = 4;

  private final Worker[] workers;
  private final int[] slots;
  private final List<Worker> list;
  private final int[] limits;

  /** True if the slots are consecutive, so their cells can be scanned as one range. */
  private final boolean consecutive;

  /** Index of the worker in each slot, starting at the lowest slot, or {@link #ABSENT}. */
  private final int[] indexBySlot;

  private final int lowestSlot;
  private final LoadBoard board;

  Pool(List<Worker> workers, LoadBoard board) {
    this.workers = workers.toArray(new Worker[0]);
    list = List.copyOf(workers);
    this.board = board;
    slots = workers.stream().mapToInt(Worker::slot).toArray();
    limits = limits(workers);
    consecutive = consecutive(slots);
    lowestSlot = IntStream.of(slots).min().orElse(0);
    indexBySlot = indexBySlot(slots, lowestSlot);
  }

  private static int[] limits(List<Worker> workers) {
    return workers.stream().mapToInt(Eligibility::limit).toArray();
  }

  /** True if a new pool of these workers would be the same. */
  boolean isOf(List<Worker> others) {
    return list.equals(others) && Arrays.equals(limits, limits(others));
  }

  private static int[] indexBySlot(int[] slots, int lowest) {
    int[] indexes = new int[IntStream.of(slots).max().orElse(-1) - lowest + 1];
    Arrays.fill(indexes, ABSENT);
    for (int i = 0; i < slots.length; i++) {
      indexes[slots[i] - lowest] = i;
    }
    return indexes;
  }

  private static boolean consecutive(int[] slots) {
    for (int i = 1; i < slots.length; i++) {
      if (slots[i] != slots[0] + i) {
        return false;
      }
    }
    return true;
  }

  /** Returns a pool of the workers that satisfy {@code condition} now; this pool if all do. */
  public Pool only(Predicate<Worker> condition) {
    List<Worker> some = list.stream().filter(condition).toList();
    return some.size() == workers.length ? this : new Pool(some, board);
  }

  public int size() {
    return workers.length;
  }

  public boolean isEmpty() {
    return workers.length == 0;
  }

  /**
   * @param index in {@code [0, size())}
   */
  public Worker worker(int index) {
    return workers[index];
  }

  public List<Worker> workers() {
    return list;
  }

  /** The slot of the worker at {@code index}. */
  public int slot(int index) {
    return slots[index];
  }

  /** The index of the worker in {@code slot}, or {@link #ABSENT}. */
  public int indexOfSlot(int slot) {
    int offset = slot - lowestSlot;
    return offset >= 0 && offset < indexBySlot.length ? indexBySlot[offset] : ABSENT;
  }

  /** Requests in flight on the worker at {@code index}. */
  public int inFlight(int index) {
    return board.inFlight(slots[index]);
  }

  /**
   * Returns the load of the worker at {@code index} if it is eligible and not in {@code tried},
   * else {@link #NOT_ELIGIBLE}. Reads one dense cell if the worker has no marks. The load is the
   * number of requests in flight, divided by the worker's weight.
   */
  public int loadIfEligible(int index, long now, List<Worker> tried) {
    int cell = board.cell(slots[index]);
    boolean eligible =
        Eligibility.free(cell)
            || Eligibility.despiteMarks(cell, limits[index], workers[index], now);
    if (!eligible || (!tried.isEmpty() && tried.contains(workers[index]))) {
      return NOT_ELIGIBLE;
    }
    int inFlight = cell & LoadBoard.MAX_IN_FLIGHT;
    return LoadBoard.has(cell, LoadBoard.Mark.ADJUSTED)
        ? workers[index].capacity().compared(inFlight, now)
        : inFlight;
  }

  /** The number of workers that are eligible and not in {@code tried}. */
  public int eligible(long now, List<Worker> tried) {
    int eligible = 0;
    for (int i = 0; i < workers.length; i++) {
      if (loadIfEligible(i, now, tried) != NOT_ELIGIBLE) {
        eligible++;
      }
    }
    return eligible;
  }

  /**
   * The number of workers not in {@code tried} that are eligible, or would be if they were not
   * busy.
   */
  public int serving(long now, List<Worker> tried) {
    int serving = 0;
    for (int i = 0; i < workers.length; i++) {
      Worker worker = workers[i];
      if (loadIfEligible(i, now, tried) != NOT_ELIGIBLE
          || (!tried.contains(worker) && worker.merelyBusy(now))) {
        serving++;
      }
    }
    return serving;
  }

  /**
   * Returns a uniformly random worker among those eligible and not in {@code tried}; null if there
   * is none.
   */
  public @Nullable Worker random(long now, List<Worker> tried, RandomSource random) {
    for (int i = 0; i < QUICK_ROLLS && workers.length > 0; i++) {
      int index = random.roll(workers.length);
      if (loadIfEligible(index, now, tried) != NOT_ELIGIBLE) {
        return workers[index];
      }
    }
    int eligible = eligible(now, tried);
    return eligible == 0 ? null : nthWithLoad(NOT_ELIGIBLE - 1, random.roll(eligible), now, tried);
  }

  /**
   * Returns the least and the greatest load among the eligible workers not in {@code tried}; null
   * if there is none. Takes one pass over the dense cells.
   */
  public @Nullable LoadRange loadRange(long now, List<Worker> tried) {
    if (tried.isEmpty() && !isEmpty()) {
      LoadRange cells = consecutive ? board.range(slots[0], slots.length) : board.range(slots);
      if (Eligibility.free(cells.most())) {
        return cells;
      }
    }
    return rangeOneByOne(now, tried);
  }

  private @Nullable LoadRange rangeOneByOne(long now, List<Worker> tried) {
    int least = NOT_ELIGIBLE;
    int most = -1;
    for (int i = 0; i < workers.length; i++) {
      int load = loadIfEligible(i, now, tried);
      if (load != NOT_ELIGIBLE) {
        least = Math.min(least, load);
        most = Math.max(most, load);
      }
    }
    return most < 0 ? null : new LoadRange(least, most);
  }

  /**
   * Returns the eligible worker with the fewest requests in flight, random among equals; null if
   * there is none. Takes three passes over the dense cells; the last stops at the chosen worker.
   */
  public @Nullable Worker leastLoaded(long now, List<Worker> tried, RandomSource random) {
    LoadRange range = loadRange(now, tried);
    return range == null ? null : anyWithLoad(range, now, tried, random);
  }

  /**
   * Returns a random eligible worker at the least load of {@code range}; null if none is eligible
   * any more.
   *
   * @param range a fresh result of {@link #loadRange}
   */
  public @Nullable Worker anyWithLoad(
      LoadRange range, long now, List<Worker> tried, RandomSource random) {
    int ties = countWithLoad(range.least(), now, tried);
    return nthWithLoad(range.least(), ties <= 1 ? 0 : random.roll(ties), now, tried);
  }

  private int countWithLoad(int load, long now, List<Worker> tried) {
    if (tried.isEmpty() && !isEmpty()) {
      int ties =
          consecutive
              ? board.countEqual(load, slots[0], slots.length)
              : board.countEqual(load, slots);
      if (ties >= 0) {
        return ties;
      }
    }
    int ties = 0;
    for (int i = 0; i < workers.length; i++) {
      ties += loadIfEligible(i, now, tried) == load ? 1 : 0;
    }
    return ties;
  }

  /**
   * Returns the n-th eligible worker at or below {@code load}. If loads have changed since the
   * count, returns the last such worker, else the first eligible one.
   */
  private @Nullable Worker nthWithLoad(int load, int n, long now, List<Worker> tried) {
    Worker found = null;
    for (int i = 0; i < workers.length; i++) {
      if (loadIfEligible(i, now, tried) <= load) {
        found = workers[i];
        if (n-- == 0) {
          return found;
        }
      }
    }
    return found != null ? found : firstEligible(now, tried);
  }

  private @Nullable Worker firstEligible(long now, List<Worker> tried) {
    for (int i = 0; i < workers.length; i++) {
      if (loadIfEligible(i, now, tried) != NOT_ELIGIBLE) {
        return workers[i];
      }
    }
    return null;
  }

  /** Returns true if any worker satisfies {@code condition}. */
  public boolean any(Predicate<Worker> condition) {
    for (Worker worker : workers) {
      if (condition.test(worker)) {
        return true;
      }
    }
    return false;
  }
}

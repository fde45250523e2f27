package io.pointsman.engine.fleet;

/**
 * The rule that decides whether a worker may get a request, from its cell on the {@link LoadBoard}.
 * Pools and workers both use it. Most cells have no mark; {@link #free} is then the whole rule.
 */
final class Eligibility {
  private Eligibility() {}

  /** Maximum number of requests in flight on a worker. */
  static int limit(Worker worker) {
    int most = worker.maxInFlight();
    return most > 0 ? most : LoadBoard.MAX_IN_FLIGHT;
  }

  /** Returns true if the cell has no mark and its count has room for a request. */
  static boolean free(int cell) {
    return cell < LoadBoard.MAX_IN_FLIGHT;
  }

  /**
   * Returns true if the marks of a cell that is not {@link #free} do not exclude its worker. Reads
   * the worker only if a mark depends on time.
   *
   * @param limit result of {@link #limit}
   */
  static boolean despiteMarks(int cell, int limit, Worker worker, long now) {
    return !LoadBoard.out(cell)
        && (cell & LoadBoard.MAX_IN_FLIGHT) < limit
        && (!LoadBoard.timed(cell) || worker.admits(cell, now));
  }
}

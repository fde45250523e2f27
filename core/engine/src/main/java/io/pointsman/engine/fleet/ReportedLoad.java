package io.pointsman.engine.fleet;

/**
 * The load that an engine reports, from all of its clients.
 *
 * @param running requests that it computes
 * @param waiting requests in its queue
 * @param kvUse used share of its KV memory, 0 to 1; 0 if it does not report it
 */
public record ReportedLoad(int running, int waiting, double kvUse) {
  /** No report. */
  public static final ReportedLoad NONE = new ReportedLoad(0, 0, 0);

  /** Use of KV memory above which an engine counts as having less capacity. */
  private static final double TIGHT = 0.9;

  private static final double LEAST_SHARE = 0.1;

  public ReportedLoad {
    running = Math.max(0, running);
    waiting = Math.max(0, waiting);
    kvUse = kvUse >= 0 && kvUse <= 1 ? kvUse : kvUse > 1 ? 1 : 0;
  }

  /** Requests of other clients and routers, if {@code own} requests are those of this router. */
  public int others(int own) {
    return Math.max(0, running + waiting - own);
  }

  /** The capacity that is left: 1, and less the closer the KV memory is to its end. */
  double share() {
    return kvUse <= TIGHT ? 1 : Math.max(LEAST_SHARE, (1 - kvUse) / (1 - TIGHT));
  }
}

package io.pointsman.tool.sim.zmq;

/**
 * Faults between a publisher and its subscribers. The first three do not affect replays.
 *
 * @param loss share of batches that are not sent, 0 to 1
 * @param delayMillis delay of batches in milliseconds
 * @param reorder share of batches that are sent after the following one, 0 to 1
 * @param replayed number of messages of a replay that are sent; a ROUTER socket drops the others if
 *     its peer reads slowly. 0: all of them
 */
public record EventFaults(double loss, long delayMillis, double reorder, int replayed) {
  public static final EventFaults NONE = new EventFaults(0, 0, 0, 0);

  private static final long LONGEST_DELAY = 3_600_000;

  public EventFaults {
    if (!(loss >= 0 && loss <= 1 && reorder >= 0 && reorder <= 1)) {
      throw new IllegalArgumentException(
          "loss, reorder: " + loss + ", " + reorder + " (expected: 0 to 1)");
    }
    if (delayMillis < 0 || delayMillis > LONGEST_DELAY) {
      throw new IllegalArgumentException(
          "delay: " + delayMillis + " (expected: 0 to " + LONGEST_DELAY + " ms)");
    }
    if (replayed < 0) {
      throw new IllegalArgumentException("replayed: " + replayed + " (expected: at least 0)");
    }
  }
}

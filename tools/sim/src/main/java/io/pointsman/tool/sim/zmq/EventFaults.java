package io.pointsman.tool.sim.zmq;

/**
 * Faults between a publisher and its subscribers; replays are not affected.
 *
 * @param loss share of batches that are not sent, 0 to 1
 * @param delayMillis delay of batches in milliseconds
 * @param reorder share of batches that are sent after the following one, 0 to 1
 */
public record EventFaults(double loss, long delayMillis, double reorder) {
  public static final EventFaults NONE = new EventFaults(0, 0, 0);

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
  }
}

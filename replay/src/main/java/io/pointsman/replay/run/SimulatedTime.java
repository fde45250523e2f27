package io.pointsman.replay.run;

/** The clock of a replay: it stands until the next event. */
public final class SimulatedTime {
  private long nanos;

  public long nanos() {
    return nanos;
  }

  /** Goes on to {@code nanos}, which is not before the present. */
  void goTo(long nanos) {
    this.nanos = nanos;
  }
}

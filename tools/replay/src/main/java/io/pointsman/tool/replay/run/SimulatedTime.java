package io.pointsman.tool.replay.run;

/** The clock of a replay: it stops until the next event. */
public final class SimulatedTime {
  private long nanos;

  public long nanos() {
    return nanos;
  }

  /** Advances to {@code nanos}, which must not be earlier than the present. */
  void goTo(long nanos) {
    this.nanos = nanos;
  }
}

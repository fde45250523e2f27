package io.pointsman.proxy.admission;

/**
 * A waiter of a test. Each one is a request of its own, even if two have equal members.
 *
 * @param whenAdmitted runs at its admission
 * @param whenDisplaced runs when another request takes its place in the queue
 */
record TestWaiter(QueuedRequest request, Runnable whenAdmitted, Runnable whenDisplaced)
    implements Admission.Waiter {
  @Override
  public void admitted() {
    whenAdmitted.run();
  }

  @Override
  public void displaced() {
    whenDisplaced.run();
  }

  @Override
  public boolean equals(Object other) {
    return this == other;
  }

  @Override
  public int hashCode() {
    return System.identityHashCode(this);
  }
}

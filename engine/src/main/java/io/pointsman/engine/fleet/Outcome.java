package io.pointsman.engine.fleet;

/** How a lease ended. */
public sealed interface Outcome {
  /**
   * The worker answered.
   *
   * @param served false if it did so with an error of the client's (4xx), which says well of the
   *     worker, but that it has computed nothing
   */
  record Succeeded(boolean served) implements Outcome {}

  /** The worker is to blame. */
  record Failed(Failure failure) implements Outcome {}

  /**
   * Nothing can be said of the worker: the client left, the worker was busy, the request never
   * reached it.
   */
  record Ignored() implements Outcome {}

  Outcome SUCCEEDED = new Succeeded(true);
  Outcome REFUSED = new Succeeded(false);
  Outcome IGNORED = new Ignored();
}

package io.pointsman.engine.fleet;

/** How a lease ended. */
public sealed interface Outcome {
  /** The worker answered, be it with a client's error (4xx). */
  record Succeeded() implements Outcome {}

  /** The worker is to blame. */
  record Failed(Failure failure) implements Outcome {}

  /**
   * Nothing can be said of the worker: the client left, the worker was busy, the request never
   * reached it.
   */
  record Ignored() implements Outcome {}

  Outcome SUCCEEDED = new Succeeded();
  Outcome IGNORED = new Ignored();
}

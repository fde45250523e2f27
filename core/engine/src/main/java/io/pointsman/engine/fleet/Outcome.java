package io.pointsman.engine.fleet;

/** The outcome of a lease. */
public sealed interface Outcome {
  /**
   * The worker answered.
   *
   * @param served false for a client error (4xx): the worker is well, but has computed nothing
   */
  record Succeeded(boolean served) implements Outcome {}

  /**
   * The request failed on the worker.
   *
   * @param charged false if the failure follows the request or its client, not the worker. The
   *     worker's breaker then ignores it
   */
  record Failed(Failure failure, boolean charged) implements Outcome {
    /** A failure that the worker caused. */
    public Failed(Failure failure) {
      this(failure, true);
    }
  }

  /**
   * No verdict on the worker: the client left, the worker was busy, or the request never reached
   * it.
   *
   * @param rest state of the request, for learners that account for its prompt
   */
  record Ignored(Rest rest) implements Outcome {}

  /** The state of a request after its lease ended without a verdict. */
  enum Rest {
    /** The request is over. Results that the worker computed so far remain in its cache. */
    OVER,
    /** The request goes to the worker by another path, and its end is not reported. */
    GOES_ON,
    /** No report arrived in time on whether the request was sent. */
    UNKNOWN
  }

  Outcome SUCCEEDED = new Succeeded(true);
  Outcome REFUSED = new Succeeded(false);
  Outcome IGNORED = new Ignored(Rest.OVER);
  Outcome POINTED = new Ignored(Rest.GOES_ON);
  Outcome EXPIRED = new Ignored(Rest.UNKNOWN);
}

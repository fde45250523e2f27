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
   *
   * @param rest what becomes of the request, for those who keep account of its prompt
   */
  record Ignored(Rest rest) implements Outcome {}

  /** What becomes of a request of which nothing more is said. */
  enum Rest {
    /** It is over: what the worker has computed of it by now stands. */
    OVER,
    /** It goes to the worker by another way, and nobody will say how it ends. */
    GOES_ON,
    /** Nobody has said in time whether it was sent at all. */
    UNKNOWN
  }

  Outcome SUCCEEDED = new Succeeded(true);
  Outcome REFUSED = new Succeeded(false);
  Outcome IGNORED = new Ignored(Rest.OVER);
  Outcome POINTED = new Ignored(Rest.GOES_ON);
  Outcome EXPIRED = new Ignored(Rest.UNKNOWN);
}

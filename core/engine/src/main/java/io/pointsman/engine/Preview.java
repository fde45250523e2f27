package io.pointsman.engine;

import io.pointsman.engine.fleet.Worker;

/** The decision that a request would get; nothing is placed. */
public sealed interface Preview {
  /** The worker that would serve the request. */
  record Chosen(Worker worker) implements Preview {}

  /** The request would be refused. */
  record Refused(Decision.Rejected rejection) implements Preview {}
}

package io.pointsman.replay.peer;

import io.pointsman.replay.run.Exchange;
import io.pointsman.replay.run.SimWorker;

/** What it costs, by some router's rule, to send a request to an engine; the least is chosen. */
@FunctionalInterface
interface Scorer {
  double cost(SimWorker engine, Exchange request);
}

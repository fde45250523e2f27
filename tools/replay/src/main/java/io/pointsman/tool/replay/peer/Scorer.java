package io.pointsman.tool.replay.peer;

import io.pointsman.tool.replay.run.ReplayedRequest;
import io.pointsman.tool.replay.run.SimWorker;

/** The cost of a request on an engine by the rule of some router; the lowest is chosen. */
@FunctionalInterface
interface Scorer {
  double cost(SimWorker engine, ReplayedRequest request);
}

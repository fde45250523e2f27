package io.pointsman.engine.policy;

/**
 * A {@link Policy} that reads parts of clients' requests beyond those in {@link RoutingRequest}.
 * They are in {@link RoutingRequest#fields}.
 */
public interface ReadsRequest {
  /** The headers and fields that it reads. Called once, when the policy is installed. */
  WantedFields wanted();
}

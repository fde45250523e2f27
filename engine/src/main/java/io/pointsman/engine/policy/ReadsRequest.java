package io.pointsman.engine.policy;

/**
 * A {@link Policy} that reads what clients sent, beyond what {@link RoutingRequest} has of it. It
 * finds that in {@link RoutingRequest#fields}.
 */
public interface ReadsRequest {
  /** What it reads of each request. Asked for once, when the policy is taken into use. */
  WantedFields wanted();
}

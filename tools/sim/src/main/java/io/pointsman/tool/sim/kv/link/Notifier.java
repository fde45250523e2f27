package io.pointsman.tool.sim.kv.link;

/** Notifies the router that KV has arrived. */
@FunctionalInterface
public interface Notifier {
  /** Sends one notification for each rank; does not block. */
  void arrived(String requestId, int ranks);
}

package io.pointsman.server.wiring;

import io.pointsman.kubernetes.PodDiscovery;
import io.pointsman.observe.capture.TraceCapture;
import io.pointsman.proxy.upstream.EngineTls;
import org.jspecify.annotations.Nullable;

/**
 * The parts of a changed configuration that can fail, before it is applied.
 *
 * @param policies null: those in force
 * @param pods another discovery of pods, which has not begun; null: none
 * @param tls TLS to engines, with the present contents of its files
 * @param capture a capture to another file; null: none
 */
record EngineChange(
    RolePolicies.@Nullable Built policies,
    @Nullable PodDiscovery pods,
    EngineTls.Change tls,
    @Nullable TraceCapture capture) {
  /** Drops a change that is not applied. */
  void drop() {
    tls.undo();
    if (pods != null) {
      pods.close();
    }
    if (capture != null) {
      capture.close();
    }
  }
}

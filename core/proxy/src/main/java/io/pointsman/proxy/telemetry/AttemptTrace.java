package io.pointsman.proxy.telemetry;

/**
 * Trace of an attempt: a request to a worker. The client can get its answer. If the attempt is in
 * progress at the end of the client's request, {@link RequestTrace#ended} ends it.
 */
public interface AttemptTrace extends SideTrace {
  /** Reports that the client gets the answer of this attempt. */
  void answered(int status);
}

package io.pointsman.sim.http;

/** Answers one kind of request, at once or later, on the connection's event loop. */
@FunctionalInterface
public interface Endpoint {
  /**
   * Handles a request; the answer may come after this method has returned.
   *
   * @throws RequestError to be answered as an error in OpenAI shape
   */
  void handle(Exchange exchange);
}

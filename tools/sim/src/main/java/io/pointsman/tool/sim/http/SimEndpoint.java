package io.pointsman.tool.sim.http;

/** Answers one kind of request, at once or later, on the connection's event loop. */
@FunctionalInterface
public interface SimEndpoint {
  /**
   * Handles a request; the response may follow after this method has returned.
   *
   * @throws RequestError for an error response in OpenAI's form
   */
  void handle(SimExchange exchange);
}

package io.pointsman.proxy.admission;

import io.pointsman.proxy.identity.Priority;

/**
 * A request as the queue sees it.
 *
 * @param client name of the client, which shares with other clients
 * @param tokens estimated tokens of the prompt
 */
public record QueuedRequest(String client, Priority priority, long tokens) {
  /** A request in a queue without a limit, which needs to know nothing. */
  public static final QueuedRequest UNNAMED = new QueuedRequest("", Priority.NORMAL, 0);
}

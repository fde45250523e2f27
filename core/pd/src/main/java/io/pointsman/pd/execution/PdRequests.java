package io.pointsman.pd.execution;

import io.pointsman.pd.plan.PdEndpoint;
import io.pointsman.pd.plan.PdRequest;
import io.pointsman.pd.plan.SplitFacts;
import io.pointsman.pd.protocol.ForeignFields;
import io.pointsman.proxy.handler.ClientExchange;
import io.pointsman.proxy.reply.RequestIds;

/** Factory of the requests that protocols plan. */
final class PdRequests {
  private static final int NONCE_DIGITS = 32;
  private static final String REQUEST_ID = "x-request-id";

  private PdRequests() {}

  /**
   * A request that two workers serve, with a new id for its handover.
   *
   * @throws IllegalStateException if two workers cannot serve it
   */
  static PdRequest of(ClientExchange served, SplitFacts facts, PdContext context) {
    PdEndpoint endpoint = facts.endpoint();
    if (endpoint == null) {
      throw new IllegalStateException("split without an endpoint that can be");
    }
    return new PdRequest(
        endpoint,
        served.request().head().uri(),
        id(served, context),
        nonce(context),
        context.conversation(served, facts),
        facts);
  }

  /**
   * The id for the engines: the client's request id, if it sent one. It is replaced if an engine
   * would read addresses from it.
   */
  static String id(ClientExchange served, PdContext context) {
    String id = served.request().id();
    return ForeignFields.names(id)
        ? nonce(context)
        : served.request().head().first(REQUEST_ID) == null ? RequestIds.forEngine(id) : id;
  }

  private static String nonce(PdContext context) {
    StringBuilder hex = new StringBuilder(NONCE_DIGITS);
    while (hex.length() < NONCE_DIGITS) {
      hex.append("%04x".formatted(context.random().roll(1 << 16)));
    }
    return hex.toString();
  }
}
